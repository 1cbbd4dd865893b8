import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { ConflictError, StoreRefusedError, StoreUnavailableError } from '../../errors.ts';
import { digestOfRows } from './digest.ts';
import { translateError } from './errors.ts';
import { checkStoreFile } from './file-checks.ts';

/**
 * Copies the store as of one instant into a new file (mode 0600), while others read and write it, and answers the digest over every row
 * of the copy. The file appears whole or not at all. Throws `ConflictError` when it exists, `StoreRefusedError`, `StoreUnavailableError`.
 */
export function backUpStore(storeFile: string, target: string): string {
  checkStoreFile(storeFile);
  if (existsSync(target)) throw new ConflictError(`\`${target}\` exists already`);
  const partial = `${target}.partial-${process.pid}`;
  try {
    copy(storeFile, partial);
    const digest = verify(partial);
    // A link refuses what a rename would overwrite.
    linkSync(partial, target);
    syncFolder(target);
    return digest;
  } catch (error) {
    throw fileError(translateError(error), target);
  } finally {
    rmSync(partial, { force: true });
  }
}

function copy(storeFile: string, partial: string): void {
  // Nobody else may read the copy at any moment: it is made empty with its mode first.
  closeSync(openSync(partial, 'wx', 0o600));
  const database = new Database(storeFile, { fileMustExist: true, timeout: 5000, readonly: true });
  try {
    database.prepare('vacuum into ?').run(partial);
  } finally {
    database.close();
  }
  chmodSync(partial, 0o600);
  syncFile(partial);
}

function verify(file: string): string {
  const database = new Database(file, { readonly: true, fileMustExist: true });
  try {
    if (database.pragma('integrity_check(1)', { simple: true }) !== 'ok') {
      throw new StoreRefusedError('corrupt', 'the store is corrupt: its copy is not whole');
    }
    return digestOfRows(database);
  } finally {
    database.close();
  }
}

export function syncFile(file: string): void {
  const descriptor = openSync(file, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes the new name itself survive a crash. */
export function syncFolder(file: string): void {
  const descriptor = openSync(dirname(file), 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** An error of the file system in the words of the server. */
export function fileError(error: unknown, file: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const options = { cause: error };
  if (code === 'ENOSPC') return new StoreUnavailableError(`the disk of \`${file}\` is full`, options);
  if (code === 'EROFS' || code === 'EACCES') return new StoreUnavailableError(`\`${file}\` cannot be written`, options);
  if (code === 'ENOENT') return new StoreUnavailableError(`the folder of \`${file}\` does not exist`, options);
  return error;
}
