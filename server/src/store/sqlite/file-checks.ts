import { closeSync, constants, lstatSync, openSync, type Stats } from 'node:fs';
import { systemClock } from '@signet/policy-engine/clock';
import { StoreRefusedError } from '../../errors.ts';

/** Identity of the file that a path names at this moment. */
export interface FileIdentity {
  readonly device: number;
  readonly inode: number;
}

/**
 * Refuses a store that others can read or could have put there: a symbolic link, no regular file, another owner, any right for
 * group or others; and a file that was emptied. Throws `StoreRefusedError`, each case with its own reason.
 */
export function checkStoreFile(file: string): FileIdentity {
  const stats = checkOwnFile(file);
  if (stats === undefined) throw new StoreRefusedError('missing', `store \`${file}\` does not exist`);
  refuseEmpty(file, stats);
  for (const suffix of ['-wal', '-shm', '-journal']) checkOwnFile(`${file}${suffix}`);
  return { device: stats.dev, inode: stats.ino };
}

/** Makes an empty file that only its owner can read, when there is none. */
export function createStoreFile(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) return;
  try {
    closeSync(openSync(file, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600));
  } catch (error) {
    // Another process may have created it in between; the checks that follow apply either way.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/** Identity of a file; undefined where none can be seen, for any reason: `whyUnseen` has its code. Never throws: event handlers call it, too. */
export function fileIdentity(file: string): FileIdentity | undefined {
  try {
    const { dev, ino } = lstatSync(file);
    return { device: dev, inode: ino };
  } catch {
    return undefined;
  }
}

/** Reason why no file can be seen at a path: the code of the system (`ENOENT`, `EACCES`, ...); undefined if there is one. */
export function whyUnseen(file: string): string | undefined {
  try {
    lstatSync(file);
    return undefined;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  }
}

/** Stats of the file, if it is the owner's alone; undefined if absent. Throws `StoreRefusedError` for everything else. */
export function checkOwnFile(file: string, kind: 'store' | 'key' | 'witness' = 'store'): Stats | undefined {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (stats.isSymbolicLink()) throw new StoreRefusedError('symlink', `${kind} \`${file}\` is a symbolic link`);
  if (!stats.isFile()) throw new StoreRefusedError('not-a-file', `${kind} \`${file}\` is not a regular file`);
  // Windows knows neither owners nor modes of this kind.
  if (process.getuid === undefined) return stats;
  if (stats.uid !== process.getuid()) {
    throw new StoreRefusedError('owner', `${kind} \`${file}\` belongs to another user`);
  }
  if ((stats.mode & 0o077) !== 0) {
    throw new StoreRefusedError('mode', `${kind} \`${file}\` can be read by others: its mode must be 0600`);
  }
  return stats;
}

/**
 * INVARIANT: nothing here opens the file of a store. Closing it would end every lock that SQLite holds on it in this process, and another
 * process could then remove the log under it. What is not a database is noticed when SQLite opens it.
 */
function refuseEmpty(file: string, stats: Stats): void {
  if (stats.size > 0) return;
  // A file that another process is making now is empty for a moment, which is long on a busy machine; one that stays empty was cut off.
  if (systemClock.now() - stats.mtimeMs < 60_000) return;
  throw new StoreRefusedError(
    'corrupt',
    `store \`${file}\` is empty: restore a backup, or remove the file to start with an empty store`,
  );
}
