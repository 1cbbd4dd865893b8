import { lstatSync } from 'node:fs';
import { type Clock, systemClock } from '@signet/policy-engine/clock';
import type Database from 'better-sqlite3';
import type { Kysely } from 'kysely';
import { StoreRefusedError, StoreUnavailableError } from '../../errors.ts';
import type { Store } from '../../model/store.ts';
import type { Schema } from '../database-schema.ts';
import { KyselyStore } from '../kysely-store.ts';
import { insertMeta } from '../meta-row.ts';
import { stepNames } from '../schema-steps.ts';
import { breakSeal } from './backup-seal.ts';
import { openDatabase } from './connect.ts';
import { checkStoreFile, createStoreFile } from './file-checks.ts';
import { nothing, readPosition, requireInStep } from './in-step.ts';
import { appliedSteps, checkSchema, knownSchemas } from './known-schema.ts';
import { LockRetry } from './lock.ts';
import { isCorrupt, isNoDatabase, isReadonly, isSystemError, translateError } from './sqlite-errors.ts';
import { SqliteQueries } from './sqlite-queries.ts';
import { SqliteStoreDatabase } from './store-connections.ts';
import { createWitness, readWitness } from './witness.ts';

export interface SqliteStoreOptions {
  readonly clock?: Clock;
  /** Monotonic clock in milliseconds; default: that of the process. */
  readonly monotonic?: () => number;
  /** The file must exist and have the current schema, and every change is refused. */
  readonly readonly?: boolean;
  /** `ignored`: for diagnosis of a store, and only with `readonly`. */
  readonly witness?: 'required' | 'ignored';
  /**
   * True if present writes are evidence of the time (`newestRecord`, `lastWritten`). False for writes of a starting server by itself: they would
   * confirm a clock that was set wrong. Default: true.
   */
  readonly tellsTime?: () => boolean;
  /** True if an operator says that the clock is right, whatever the records of this server say. */
  readonly acceptsClock?: boolean;
}

/**
 * Opens the store in `file`, made with mode 0600 when it is missing, and brings its schema up to date. Throws `StoreRefusedError` (exit status
 * 78) for a file that is not this user's alone, corrupt, of a newer program, with a schema that no migration made, or that lacks changes which
 * its witness knows; `StoreUnavailableError` when it is locked. Reads and changes have a connection each, so neither waits for the other; should
 * the file be replaced, both open the new one. A store that cannot be written (a full or read-only disk) is read; `tryWriting` resumes changes
 * once it can be.
 */
export async function openSqliteStore(file: string, options: SqliteStoreOptions = {}): Promise<Store> {
  const { clock = systemClock, monotonic = () => performance.now(), tellsTime = () => true } = options;
  const { readonly = false, witness = 'required', acceptsClock = false } = options;
  try {
    if (!readonly) {
      refuseLostFile(file);
      createStoreFile(file);
    }
    checkStoreFile(file);
    const prepare = async () => {
      await prepareWhenFree(file, clock, 'with-witness');
    };
    const clocks = { clock, monotonic, tellsTime, acceptsClock };
    const deps = { file, readonly, witness, schemas: knownSchemas(), ...clocks, prepare };
    const database = new SqliteStoreDatabase(deps);
    await database.open();
    return new KyselyStore(database, clock);
  } catch (error) {
    throw refusalOf(file, error);
  }
}

/** Refuses a lost file: an empty store is not created in its place. */
export function refuseLostFile(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) return;
  const witness = readWitness(file);
  // The witness of a restore that was killed before its last step is no evidence.
  if (witness === 'missing' || (witness !== 'unreadable' && witness.epoch === nothing.epoch)) return;
  const help = 'restore a backup, or remove the witness to start with an empty store';
  throw new StoreRefusedError('missing', `store \`${file}\` is missing, but its witness exists: ${help}`);
}

/** Error for a store that cannot be opened, in the words of the server. */
export function refusalOf(file: string, error: unknown): unknown {
  if (isNoDatabase(error)) {
    return new StoreRefusedError('corrupt', `store \`${file}\` is not a SQLite database`, { cause: error });
  }
  if (isCorrupt(error)) {
    return new StoreRefusedError('corrupt', `store \`${file}\` is corrupt`, { cause: error });
  }
  if (isSystemError(error)) {
    if (error.code === 'ENOENT')
      return new StoreRefusedError('missing', `the folder of store \`${file}\` does not exist`);
    return new StoreUnavailableError(`store \`${file}\` cannot be opened (${error.code})`, { cause: error });
  }
  return translateError(error);
}

/** Cache size for the check of a file. */
const checkedKibibytes = 200;

/** Comparison of a store with the witness beside it; the copy of a backup has none. */
type Beside = 'with-witness' | 'alone';

/** Writer of a mark into a file before its first tables; synced before these. */
type BeforeTables = (db: Kysely<Schema>) => Promise<void>;

/** Checks the whole file and brings it up to date, waiting for the lock. Throws what SQLite throws, and `StoreRefusedError`. */
export async function prepareWhenFree(
  file: string,
  clock: Clock,
  beside: Beside,
  beforeTables?: BeforeTables,
): Promise<void> {
  const retry = new LockRetry();
  await retry.waitFor(() => prepare(file, { clock, retry, beside, beforeTables }));
}

interface Preparation {
  readonly clock: Clock;
  readonly retry: LockRetry;
  readonly beside: Beside;
  readonly beforeTables: BeforeTables | undefined;
}

async function prepare(file: string, { clock, retry, beside, beforeTables }: Preparation): Promise<void> {
  checkWhole(file, beside);
  const database = openDatabase(file);
  const queries = new SqliteQueries(database, 'changes', retry);
  try {
    // Before anything is written: a trigger would take part in it.
    checkSchema(database, file, knownSchemas(), 'older-is-fine');
    database.pragma('journal_mode = WAL');
    if (appliedSteps(database).length === 0) await beforeTables?.(queries.db);
    if (appliedSteps(database).length < stepNames.length) await (await import('./migrate.ts')).migrate(queries);
    await insertMeta(queries.db, clock.now());
    if (beside === 'with-witness' && readWitness(file) === 'missing') createWitness(file, readPosition(database));
    breakSeal(database);
  } finally {
    await queries.close();
  }
}

/**
 * A log that belongs to another file would be written into this one when a connection that may write is closed, and what is left of a damaged
 * log removed: it is seen before.
 */
function checkWhole(file: string, beside: Beside): void {
  const witness = beside === 'alone' ? 'missing' : readWitness(file);
  lookAt(file, (database) => {
    checkPages(database, file);
    if (beside === 'with-witness') requireInStep(database, file, witness);
  });
}

/**
 * Reads over a connection that cannot write; a change that was cut off before there was a log has to be rolled back first, by one that can.
 * Throws what `look` throws, and what SQLite says of the file.
 */
export function lookAt<Seen>(file: string, look: (database: Database.Database) => Seen): Seen {
  const lookOver = (database: Database.Database): Seen => {
    try {
      return look(database);
    } finally {
      database.close();
    }
  };
  try {
    return lookOver(openDatabase(file, true));
  } catch (error) {
    if (!isReadonly(error)) throw error;
    return lookOver(openDatabase(file));
  }
}

function checkPages(database: Database.Database, file: string): void {
  // Each page is looked at once: what few of them take stays in the cache of the processor.
  database.pragma(`cache_size = -${checkedKibibytes}`);
  if (database.pragma('quick_check(1)', { simple: true }) === 'ok') return;
  throw new StoreRefusedError('corrupt', `store \`${file}\` is corrupt`);
}
