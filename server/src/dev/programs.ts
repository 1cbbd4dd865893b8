import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFolder } from '../own-files.ts';
import { quote } from './announce.ts';

/** Paths of the programs that `signet dev` runs, and of the sample policies. */
export interface Programs {
  readonly server: string;
  readonly updater: string;
  readonly provider: string;
  readonly policies: string;
}

/** Finds them beside this package: in a checkout as in an installation. Throws when a package is not there. */
export function findPrograms(): Programs {
  const isCheckout = existsSync(join(packageFolder, 'src'));
  return {
    server: join(packageFolder, 'bin/signet.js'),
    updater: scriptOf('@signet/updater', 'signet-updater'),
    provider: scriptOf('@signet/example-provider', 'signet-example-provider'),
    policies: isCheckout ? join(packageFolder, '../policies') : join(packageFolder, 'policies'),
  };
}

/**
 * Command by which a person in the folder runs `signet`. Only in a checkout does `npx` find it: elsewhere it would fetch what others publish
 * under that name, so the program is named that runs now.
 */
export function programFor(working: string, running: string = process.argv[1] ?? 'signet'): string {
  const checkout = join(packageFolder, '..');
  const isInside = existsSync(join(packageFolder, 'src')) && !relative(checkout, working).startsWith('..');
  return isInside ? 'npx signet' : quote(running);
}

function scriptOf(packageName: string, program: string): string {
  let manifest: string;
  try {
    manifest = fileURLToPath(import.meta.resolve(`${packageName}/package.json`));
    readFileSync(manifest);
  } catch (cause) {
    const what = `the package of ${program} of the same release beside that of signet`;
    throw new Error(`\`signet dev\` runs ${program}: install ${what}`, { cause });
  }
  return join(dirname(manifest), 'bin', `${program}.js`);
}
