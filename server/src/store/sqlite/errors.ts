import { SqliteError } from 'better-sqlite3';
import { ConflictError, StoreUnavailableError } from '../../errors.ts';

/** Whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);
}

export function isCorrupt(error: unknown): boolean {
  return error instanceof SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}

/** An error of SQLite in the words of the server; others stay as they are. The code of SQLite goes to the log only. */
export function translateError(error: unknown): unknown {
  if (!(error instanceof SqliteError)) return error;
  const options = { cause: error, detail: { sqlite: error.code } };
  if (error.code.startsWith('SQLITE_CONSTRAINT')) {
    return new ConflictError('the change does not fit what is stored', options);
  }
  if (isBusy(error)) return new StoreUnavailableError('the store is locked by another writer', options);
  if (error.code === 'SQLITE_FULL') return new StoreUnavailableError('the disk of the store is full', options);
  return new StoreUnavailableError('the store cannot be read or written', options);
}
