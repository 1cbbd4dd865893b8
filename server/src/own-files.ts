import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/*
 * Folder of this package's files: in a checkout the modules run where they are, in an installed package they were joined into few files
 * (`deploy/release/join.ts`). This module stands at the top of either.
 */

export const packageFolder: string = fileURLToPath(new URL('..', import.meta.url));

/** A module that is a program of its own, by its name below `src`. */
export function ownProgram(name: 'impact-process' | 'dev/end-with-parent'): URL {
  return new URL(`./${name}${extname(import.meta.filename)}`, import.meta.url);
}

/** A file that is not a module, by its name below `src`. */
export function ownAsset(name: `console/${string}.${'css' | 'svg'}`): URL {
  return new URL(`./${name}`, import.meta.url);
}
