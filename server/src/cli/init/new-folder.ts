import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { lockFile } from '@signet/policy-engine/internal/files';
import { ConflictError } from '../../errors.ts';
import { UsageError } from '../usage-error.ts';

/* Files that `signet init` makes in its folder. The configuration is made last: a folder without it is not complete. */
const configName = 'signet.yaml';
export const sealingKeyName = 'sealing.key';
const folders = ['ca', 'data', 'identities', 'policies', 'schemas'];
const files = ['server.cert.pem', 'server.key.pem', sealingKeyName, configName];

const lockName = '.init.lock';

/** A path in the folder. */
export type At = (...parts: readonly string[]) => string;

/** A folder that is being filled. */
interface NewFolder {
  readonly at: At;
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

/**
 * Makes the folder and those in it, for this user alone, and has them filled. What fails leaves the folder as it was. Throws `UsageError` as
 * `refuseToOverwrite` does, and `ConflictError` while another command fills it: each would remove the files of the other when it fails.
 */
export async function fillNewFolder<Result>(folder: string, fill: (at: At) => Promise<Result>): Promise<Result> {
  refuseToOverwrite(folder);
  const isNew = !existsSync(folder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    return await fillAlone(folder, fill);
  } catch (error) {
    if (isNew && existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
    throw error;
  }
}

async function fillAlone<Result>(folder: string, fill: (at: At) => Promise<Result>): Promise<Result> {
  await using lock = await lockFile(join(folder, lockName), { waitMs: 0 });
  if (lock === undefined) throw new ConflictError(`another command is creating a server in \`${folder}\``);
  const { at, undo } = openNewFolder(folder);
  try {
    return await fill(at);
  } catch (error) {
    undo();
    throw error;
  }
}

function openNewFolder(folder: string): NewFolder {
  // Checked again for files that another process has made since.
  refuseToOverwrite(folder);
  const at: At = (...parts) => join(folder, ...parts);
  const present = presentIn(folder);
  for (const path of [at('ca'), at('data'), at('identities')]) mkdirSync(path, { recursive: true, mode: 0o700 });
  return {
    at,
    undo() {
      for (const name of [...folders, ...files]) {
        // A folder that was there was empty, and stays.
        const made = present.includes(name) ? readdirSync(at(name)).map((inside) => at(name, inside)) : [at(name)];
        for (const path of made) rmSync(path, { recursive: true, force: true });
      }
    },
  };
}

function refusal(folder: string, [first = '', ...more]: readonly string[]): string {
  const exists = `\`${join(folder, first)}\` exists: nothing was overwritten`;
  if ([first, ...more].includes(configName)) return exists;
  const names = [first, ...more].map((name) => `\`${name}\``).join(', ');
  return `${exists}; there is no \`${configName}\`, so if an earlier \`signet init\` was interrupted, remove ${names} and run it again`;
}
