import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { type HeldFile, holdFile } from '@signet/policy-engine/internal/files';
import { systemCode, UpdaterError } from '../updater-errors.ts';
import type { FileSystem } from './file-system.ts';

/** Lock file, which stays when the updater ends: what counts is the lock on it, which the system releases with the process. */
export const lockName = '.updater-lock.db';

/** Lock for the only updater that may write to a policy directory. Dispose it to release the directory. */
export interface DirectoryLock extends AsyncDisposable {
  /** True if the directory still holds the file that is locked: false for one that was put in its place. */
  isInPlace(): Promise<boolean>;
}

/**
 * Locks the directory by the lock that SQLite takes on a file (`fcntl`), as Node has no other: unlike a number of a process in a file it ends
 * with the process, however that ends, and holds between containers, and between hosts where the network file system has locks (NFS 4).
 * Throws `UpdaterError`: `locked` when another updater uses the directory, `unsafe-directory`, `storage`.
 */
export async function lockDirectory(directory: string, files: FileSystem): Promise<DirectoryLock> {
  const path = join(directory, lockName);
  try {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await makeFile(path, directory, files);
      const before = await identityOf(path, files);
      const held = await holdFile(path);
      if (held === undefined) throw locked(directory);
      // Another file may have been put into its place between the two calls.
      if (before !== undefined && before === (await identityOf(path, files))) {
        return lockOf(held, async () => before === (await identityOf(path, files)));
      }
      held.close();
    }
    throw locked(directory);
  } catch (cause) {
    if (cause instanceof UpdaterError) throw cause;
    const reason = isSqliteError(cause) ? cause.message : (systemCode(cause) ?? 'failed');
    throw new UpdaterError('storage', `cannot lock policy directory \`${directory}\` (${reason})`, { cause });
  }
}

function locked(directory: string): UpdaterError {
  const help = 'stop it, or set another `policyDir` for this one';
  return new UpdaterError('locked', `policy directory \`${directory}\` is in use by another updater: ${help}`);
}

/** Creates the file if absent. An unwritable file cannot be locked, so it is refused. */
async function makeFile(path: string, directory: string, files: FileSystem): Promise<void> {
  const facts = await files.facts(path);
  if (facts === undefined) {
    const file = files.newFile();
    await file.create(path, 0o600).then(file.close, (error: unknown) => {
      if (systemCode(error) !== 'EEXIST') throw error;
    });
  } else if (!facts.isFile) {
    const problem = `holds \`${lockName}\`, which is not a plain file`;
    throw new UpdaterError('unsafe-directory', `policy directory \`${directory}\` ${problem}`);
  }
  await access(path, constants.W_OK);
}

function isSqliteError(error: unknown): error is Error & { readonly errcode: unknown } {
  return error instanceof Error && 'errcode' in error;
}

function lockOf(held: HeldFile, isSame: () => Promise<boolean>): DirectoryLock {
  return {
    isInPlace: async () => held.isOpen && (await isSame()),
    [Symbol.asyncDispose]: async () => {
      if (held.isOpen) held.close();
    },
  };
}

async function identityOf(path: string, files: FileSystem): Promise<string | undefined> {
  return (await files.facts(path))?.identity;
}
