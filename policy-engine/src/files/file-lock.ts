import { closeSync, openSync } from 'node:fs';
import { lstat, unlink } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

/** SQLITE_BUSY */
const busy = 5;
const retryMs = 50;
/** Each of them lost its file to the end of another lock. */
const attempts = 5;

/** Timeout and abort signal for taking a lock. */
export interface LockWait {
  /** Milliseconds; 0 asks once. */
  readonly waitMs: number;
  /** Signal that aborts the waiting, which throws then. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Takes the lock of a dedicated file, which is created (mode 0600) if absent and removed with the lock. It is the lock that SQLite takes on a
 * file (`fcntl`), as Node has no other: it ends with the process, however that ends, and also excludes other parts of the same process. Dispose
 * it to release it. Undefined if another holder kept it until the timeout. Throws the error of the file system.
 */
export async function lockFile(path: string, { waitMs, signal }: LockWait): Promise<AsyncDisposable | undefined> {
  const end = performance.now() + waitMs;
  for (;;) {
    signal?.throwIfAborted();
    const lock = await tryLock(path);
    if (lock !== undefined || performance.now() >= end) return lock;
    await pause(retryMs, undefined, { signal });
  }
}

async function tryLock(path: string): Promise<AsyncDisposable | undefined> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    makeFile(path);
    const before = await identityOf(path);
    if (before === undefined) continue;
    const held = await holdFile(path);
    if (held === undefined) return undefined;
    // The former holder has removed the file on release: another file may have its name.
    if (before === (await identityOf(path))) return lockOf(path, held);
    held.close();
  }
  return undefined;
}

/** INVARIANT: only a new file is opened and closed here: closing any other would end a lock that this process has on it. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/** Identity of a plain file; undefined if absent. Throws for anything else. */
async function identityOf(path: string): Promise<string | undefined> {
  try {
    const stats = await lstat(path, { bigint: true });
    if (!stats.isFile()) throw new Error(`\`${path}\` is not a plain file`);
    return `${stats.dev}:${stats.ino}`;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A lock on a file. `close` gives it back; it is open as long as it is held. */
export interface HeldFile {
  readonly isOpen: boolean;
  close(): void;
}

/**
 * Locks an open file, even if its name comes to mean another one. Undefined if the lock is held elsewhere. Throws the error of SQLite, with its
 * `errcode`.
 */
export async function holdFile(path: string): Promise<HeldFile | undefined> {
  // Loaded on demand: most programs that write files take no lock.
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) return undefined;
    throw error;
  }
}

function lockOf(path: string, held: HeldFile): AsyncDisposable {
  return {
    [Symbol.asyncDispose]: async () => {
      // Removed while locked: the next process must not lock a file that is about to go. A remaining file does no harm.
      await unlink(path).catch(() => undefined);
      held.close();
    },
  };
}
