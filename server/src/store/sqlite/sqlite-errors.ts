import { SqliteError } from 'better-sqlite3';
import { ConflictError, StoreReadOnlyError, StoreUnavailableError } from '../../errors.ts';

/** True if another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);
}

export function isNoDatabase(error: unknown): boolean {
  return error instanceof SqliteError && error.code.startsWith('SQLITE_NOTADB');
}

export function isCorrupt(error: unknown): boolean {
  return error instanceof SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}

/** True if the stored data is unreadable: corrupt pages, bad sectors of the disk. */
export function isUnreadable(error: unknown): boolean {
  return isCorrupt(error) || (error instanceof SqliteError && /^SQLITE_IOERR_(READ|SHORT_READ)/.test(error.code));
}

export function isReadonly(error: unknown): boolean {
  return error instanceof SqliteError && error.code.startsWith('SQLITE_READONLY');
}

/** True if a write failed, as on a full disk. */
export function isWriteError(error: unknown): boolean {
  return error instanceof SqliteError && /^SQLITE_(FULL|IOERR)/.test(error.code);
}

/** Obstacles and their messages, by the beginning of the code of SQLite. */
const obstacles: readonly (readonly [code: RegExp, message: string])[] = [
  [/^SQLITE_(BUSY|LOCKED)/, 'the store is locked by another writer'],
  [/^SQLITE_FULL/, 'the disk of the store is full'],
  [/^SQLITE_(CORRUPT|NOTADB)/, 'the store is corrupt'],
  [/^SQLITE_READONLY/, 'the store cannot be written: its file or folder is read-only'],
  [/^SQLITE_CANTOPEN/, 'the files of the store cannot be opened'],
  [/^SQLITE_IOERR/, 'the disk of the store fails or is full'],
];

/** An error of SQLite, or of the system while files of the store were used, in the words of the server; others stay as they are. */
export function translateError(error: unknown): unknown {
  if (isSystemError(error)) {
    const { code, path } = error;
    const detail = { code, ...(path !== undefined && { file: path }) };
    return new StoreUnavailableError(`the files of the store cannot be used (${code})`, { cause: error, detail });
  }
  if (!(error instanceof SqliteError)) return error;
  // The code of SQLite goes to the log only.
  const { code } = error;
  const options = { cause: error, detail: { sqlite: code } };
  // A foreign trigger is not part of this schema: its owner must fix it.
  if (/^SQLITE_CONSTRAINT(?!_TRIGGER)/.test(code))
    return new ConflictError('the change conflicts with the stored data', options);
  const message = obstacles.find(([pattern]) => pattern.test(code))?.[1];
  return new StoreUnavailableError(message ?? 'the store cannot be read or written', options);
}

/** An error of the system, as of a file that cannot be opened. */
export function isSystemError(error: unknown): error is Error & { readonly code: string; readonly path?: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
}

const unwritable =
  /^(SQLITE_(FULL|READONLY|CANTOPEN|IOERR(?!_READ|_SHORT_READ))|ENOSPC|EDQUOT|EFBIG|EROFS|EACCES|EPERM|EIO)/;

/** True if a write failed for want of space, rights or a working disk; also as the cause of another error. */
export function isUnwritable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof StoreReadOnlyError) return true;
  if ('code' in error && typeof error.code === 'string' && unwritable.test(error.code)) return true;
  return isUnwritable(error.cause);
}
