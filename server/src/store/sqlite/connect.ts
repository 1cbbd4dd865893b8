import { accessSync, closeSync, constants, fstatSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { mergeLog } from './merge-log.ts';
import { isUnwritable } from './sqlite-errors.ts';

/** Size of the log on the disk to which it is truncated when idle. */
const logBytes = 16_000_000;

/** A connection that may write. Throws what SQLite says of a file that cannot be used, with nothing left open. */
export function openDatabase(file: string, readonly = false): Database.Database {
  return configured(new Database(file, { fileMustExist: true, timeout: 0, readonly }));
}

/**
 * A connection that reads. Where the disk lets SQLite make none of the files that it needs for that, the store as it is now is read into
 * memory, its log included.
 */
export function openForReading(file: string): Database.Database {
  try {
    const database = openDatabase(file, true);
    try {
      // Before anything is read, SQLite opens nothing.
      database.pragma('schema_version');
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    const image = mergeLog(readWhole(file), readWhole(`${file}-wal`));
    return configured(new Database(image, { readonly: true }));
  }
}

function configured(database: Database.Database): Database.Database {
  try {
    database.pragma('foreign_keys = ON');
    database.pragma('synchronous = FULL');
    database.pragma('trusted_schema = OFF');
    // While a backup reads, the log grows; else it would stay that large.
    database.pragma(`journal_size_limit = ${logBytes}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Read in parts: one call reads at most 2 GiB. */
const partBytes = 2 ** 28;

/** Empty when there is no such file. */
function readWhole(file: string): Buffer {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
  try {
    const bytes = Buffer.alloc(fstatSync(descriptor).size);
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(descriptor, bytes, at, Math.min(partBytes, bytes.length - at), at);
      if (read === 0) return bytes.subarray(0, at);
      at += read;
    }
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}

/** True if this user may change the file and its companions; a full disk is not noticed. */
export function mayWrite(file: string): boolean {
  try {
    for (const path of [file, dirname(file)]) accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Minimum free space that SQLite and a change need. */
const roomBytes = 131_072;

/** True if there is room for a change: cheaper than opening a store and finding none. */
export function hasRoom(file: string): boolean {
  if (!mayWrite(file)) return false;
  const probe = `${file}.room-${process.pid}`;
  try {
    writeFileSync(probe, Buffer.alloc(roomBytes), { mode: 0o600 });
    return true;
  } catch {
    return false;
  } finally {
    removeIfPossible(probe);
  }
}

/** Removes a file; a folder that is not accessible any more must not turn the answer into an error. */
function removeIfPossible(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // The next probe of this process takes its place.
  }
}
