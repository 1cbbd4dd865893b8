import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../usage-error.ts';

/* What `signet init` makes in its folder. The configuration is made last: a folder without it is not complete. */
const configName = 'signet.yaml';
export const sealingKeyName = 'sealing.key';
const folders = ['ca', 'data', 'identities', 'policies', 'schemas'];
const files = ['server.cert.pem', 'server.key.pem', sealingKeyName, configName];

/** A folder that is being filled. */
interface NewFolder {
  at(...parts: readonly string[]): string;
  /** Removes what was put into it, so that the next try finds it as this one did. */
  undo(): void;
}

/** Throws `UsageError` when something is there already that `signet init` makes: nothing is overwritten. */
export function refuseToOverwrite(folder: string): void {
  const inTheWay = presentIn(folder).filter((name) => !folders.includes(name) || !isEmptyFolder(join(folder, name)));
  if (inTheWay.length > 0) throw new UsageError(refusal(folder, inTheWay));
}

function presentIn(folder: string): string[] {
  return [...folders, ...files].filter((name) => existsSync(join(folder, name)));
}

function isEmptyFolder(path: string): boolean {
  return statSync(path).isDirectory() && readdirSync(path).length === 0;
}

/** Makes the folder and those in it, for this user alone. Throws `UsageError` as `refuseToOverwrite` does. */
export function openNewFolder(folder: string): NewFolder {
  refuseToOverwrite(folder);
  const at = (...parts: readonly string[]) => join(folder, ...parts);
  const present = presentIn(folder);
  const isNew = !existsSync(folder);
  for (const path of [folder, at('ca'), at('data'), at('identities')])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  return {
    at,
    undo() {
      for (const name of [...folders, ...files]) {
        // A folder that was there was empty, and stays.
        const made = present.includes(name) ? readdirSync(at(name)).map((inside) => at(name, inside)) : [at(name)];
        for (const path of made) rmSync(path, { recursive: true, force: true });
      }
      if (isNew && readdirSync(folder).length === 0) rmdirSync(folder);
    },
  };
}

function refusal(folder: string, [first = '', ...more]: readonly string[]): string {
  const exists = `\`${join(folder, first)}\` exists: nothing is overwritten`;
  if ([first, ...more].includes(configName)) return exists;
  const names = [first, ...more].map((name) => `\`${name}\``).join(', ');
  return `${exists}; there is no \`${configName}\`, so if an earlier \`signet init\` did not end, remove ${names} and run it again`;
}
