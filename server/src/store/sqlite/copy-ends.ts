import { lstatSync, rmSync } from 'node:fs';
import { systemClock } from '@signet/policy-engine/clock';
import { syncFileSync } from '@signet/policy-engine/internal/files';
import type Database from 'better-sqlite3';
import { ConflictError } from '../../errors.ts';
import type { CopyEnd, CopyTarget } from '../copy/copy-end.ts';
import { markBeforeTables } from '../copy/copy-mark.ts';
import { mayWrite, openDatabase, openForReading } from './connect.ts';
import { checkOwnFile, checkStoreFile, createStoreFile } from './file-checks.ts';
import { requireInStep } from './in-step.ts';
import { appliedSteps, checkSchema, knownSchemas } from './known-schema.ts';
import { lookAt, prepareWhenFree, refusalOf, refuseLostFile } from './open-sqlite.ts';
import { isMarked } from './partial-copy.ts';
import { isBusy } from './sqlite-errors.ts';
import { SqliteQueries } from './sqlite-queries.ts';
import { readWitness, replaceWitness } from './witness.ts';
import { syncNameOf } from './written-file.ts';

/**
 * A store to copy, with its schema and witness checked. Unless others may use it meanwhile it stays locked until it is closed: throws
 * `ConflictError` when it is open elsewhere.
 */
export async function openSqliteSource(file: string, others: 'locked-out' | 'allowed'): Promise<CopyEnd> {
  try {
    checkStoreFile(file);
    const schemas = knownSchemas();
    const witness = readWitness(file);
    const reading = openForReading(file);
    try {
      reading.pragma('busy_timeout = 5000');
      requireInStep(reading, file, witness);
      checkSchema(reading, file, schemas);
    } catch (error) {
      reading.close();
      throw error;
    }
    // A file that cannot be written cannot change meanwhile.
    if (others === 'allowed' || !mayWrite(file)) return endOver(file, reading);
    reading.close();
    return endOver(file, lockedDatabase(file));
  } catch (error) {
    throw refusalOf(file, error);
  }
}

/** A connection beside which there is no other one, until it is closed. */
function lockedDatabase(file: string): Database.Database {
  const database = openDatabase(file);
  try {
    database.pragma('locking_mode = EXCLUSIVE');
    database.exec('begin exclusive; rollback');
    return database;
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw error;
    throw new ConflictError(`store \`${file}\` is in use: stop its servers first`, { cause: error });
  }
}

function endOver(file: string, database: Database.Database): CopyEnd {
  const queries = new SqliteQueries(database, 'reads');
  return { place: file, snapshot: (work) => queries.transact(work), close: () => queries.close() };
}

/** Target store of a copy, created (mode 0600) if absent, and locked until it is closed. Its witness is in step once the copy is complete. */
export async function openSqliteTarget(file: string): Promise<CopyTarget> {
  try {
    removeUnfilled(file);
    refuseLostFile(file);
    createStoreFile(file);
    checkStoreFile(file);
    if (!isPartialCopy(file)) await prepareWhenFree(file, systemClock, 'alone', markBeforeTables);
    return targetOver(file, lockedDatabase(file));
  } catch (error) {
    throw refusalOf(file, error);
  }
}

/** A copy that was killed in its first moment leaves an empty file, or its mark alone. One that has a witness was a store. */
function removeUnfilled(file: string): void {
  const size = checkOwnFile(file)?.size;
  if (size === undefined || readWitness(file) !== 'missing') return;
  const isUnfilled = (database: Database.Database) => isMarked(database) && appliedSteps(database).length === 0;
  if (size > 0 && !lookAt(file, isUnfilled)) return;
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${suffix}`, { force: true });
}

/** True for a partial copy; for a store its schema is checked too. */
function isPartialCopy(file: string): boolean {
  // An empty file is a store that was never filled.
  if (lstatSync(file).size === 0) return false;
  return lookAt(file, (database) => {
    if (!isMarked(database)) return false;
    checkSchema(database, file, knownSchemas(), 'partial-copy');
    return true;
  });
}

function targetOver(file: string, database: Database.Database): CopyTarget {
  // A copy is what its source is, also one that a check has to find wrong; the digest proves that it is.
  database.pragma('foreign_keys = OFF');
  const queries = new SqliteQueries(database, 'changes');
  return {
    place: file,
    snapshot: (work) => queries.transact(work),
    change: (work) => queries.transact(work),
    isMarked: async () => isMarked(database),
    // Before the mark goes: a store that is whole and lacks its witness would be refused.
    completing: (position) => replaceWitness(file, position),
    close: async () => {
      await queries.close();
      syncFileSync(file);
      syncNameOf(file);
    },
  };
}
