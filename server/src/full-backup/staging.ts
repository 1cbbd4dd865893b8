import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lockFile } from '@signet/policy-engine/internal/files';
import { ConflictError } from '../errors.ts';

/*
 * Staging folder of this user for the unencrypted contents of a complete backup while it is packed or unpacked. It holds keys, so it is removed
 * whatever ends the work: an error, a signal, or, with the next work beside it, the end of a process or a machine.
 */

type StagingKind = 'backup' | 'restore';

const stagingName = /^\.signet-(backup|restore)-\w{6}$/;
const lockName = 'lock';
/** Retries: another process may take a folder for a leftover before it is locked. */
const attempts = 5;
const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs `work` with a new folder (mode 0700) on the file system of `parent`, the only one in a folder that is removed at the end; what it moves elsewhere stays.
 * Removes what processes of this user that are gone have left in `parent`.
 */
export async function withStaging<Result>(
  parent: string,
  kind: StagingKind,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  await removeAbandoned(parent);
  const { staging, lock } = await newStaging(parent, kind);
  const remove = () => rmSync(staging, { recursive: true, force: true, maxRetries: 3 });
  const onEnding = (name: NodeJS.Signals): void => {
    remove();
    for (const each of endings) process.off(each, onEnding);
    process.kill(process.pid, name);
  };
  for (const name of endings) process.on(name, onEnding);
  try {
    const folder = join(staging, 'content');
    mkdirSync(folder, { mode: 0o700 });
    return await work(folder);
  } finally {
    remove();
    for (const name of endings) process.off(name, onEnding);
    await lock[Symbol.asyncDispose]();
  }
}

async function newStaging(parent: string, kind: StagingKind) {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const staging = mkdtempSync(join(parent, `.signet-${kind}-`));
    const lock = await lockOf(staging);
    if (lock !== undefined) return { staging, lock };
  }
  throw new ConflictError(`folders in \`${parent}\` are removed right after they are created`);
}

/** Undefined when another process has it, or has removed the folder. */
async function lockOf(staging: string): Promise<AsyncDisposable | undefined> {
  try {
    return await lockFile(join(staging, lockName), { waitMs: 0 });
  } catch (error) {
    if (!existsSync(staging)) return undefined;
    throw error;
  }
}

async function removeAbandoned(parent: string): Promise<void> {
  for (const name of readdirSync(parent)) {
    const staging = join(parent, name);
    // A folder without a lock file has just been made.
    if (!stagingName.test(name) || !isOwnFolder(staging) || !existsSync(join(staging, lockName))) continue;
    await using lock = await lockOf(staging);
    if (lock !== undefined) rmSync(staging, { recursive: true, force: true });
  }
}

function isOwnFolder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && (process.getuid === undefined || stats.uid === process.getuid());
}
