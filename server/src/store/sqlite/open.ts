import { type Clock, systemClock } from '@signet/policy-engine/clock';
import Database from 'better-sqlite3';
import { Kysely } from 'kysely';
import { StoreRefusedError, StoreUnavailableError } from '../../errors.ts';
import { KyselyStore } from '../kysely-store.ts';
import type { Schema } from '../schema.ts';
import type { Store } from '../store.ts';
import type { StoreDatabase } from '../store-database.ts';
import { breakSeal } from './backup-seal.ts';
import { SignetSqliteDialect } from './dialect.ts';
import { isCorrupt, isReadonly, translateError } from './errors.ts';
import { checkStoreFile, createStoreFile, type FileIdentity, fileIdentity } from './file-checks.ts';
import { checkSchema, type KnownSchemas, knownSchemas } from './known-schema.ts';
import { LockPatience } from './lock.ts';
import { migrate } from './migrate.ts';

export interface SqliteStoreOptions {
  readonly clock?: Clock;
  /** The file must exist and have the current schema, and every change is refused. */
  readonly readonly?: boolean;
}

/**
 * Opens the store in `file`, made with mode 0600 when it is missing, and brings its schema up to date. Throws `StoreRefusedError`
 * (exit status 78) for a file that is not ours alone, corrupt, of a newer program or with a schema that no migration made;
 * `StoreUnavailableError` when it is locked.
 * Reads and changes have a connection each, so neither waits for the other; should the file be replaced, both open the new one.
 */
export async function openSqliteStore(file: string, options: SqliteStoreOptions = {}): Promise<Store> {
  const { clock = systemClock, readonly = false } = options;
  try {
    if (!readonly) createStoreFile(file);
    checkStoreFile(file);
    if (!readonly) await prepareWhenFree(file, clock);
    const database = new SqliteStoreDatabase(file, readonly, await knownSchemas());
    await database.open();
    return new KyselyStore(database, clock);
  } catch (error) {
    throw refusalOf(file, error);
  }
}

/** Why a store cannot be opened, in the words of the server. */
export function refusalOf(file: string, error: unknown): unknown {
  if (isCorrupt(error)) {
    return new StoreRefusedError('corrupt', `store \`${file}\` is corrupt`, { cause: error });
  }
  if (isFileError(error)) {
    if (error.code === 'ENOENT')
      return new StoreRefusedError('missing', `the folder of store \`${file}\` does not exist`);
    return new StoreUnavailableError(`store \`${file}\` cannot be opened (${error.code})`, { cause: error });
  }
  return translateError(error);
}

function isFileError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
}

async function prepareWhenFree(file: string, clock: Clock): Promise<void> {
  const patience = new LockPatience();
  const schemas = await knownSchemas();
  await patience.waitFor(() => prepare(file, clock, patience, schemas));
}

/** Checks the whole file and brings it up to date. */
async function prepare(file: string, clock: Clock, patience: LockPatience, schemas: KnownSchemas): Promise<void> {
  checkWhole(file);
  const database = openDatabase(file);
  const db = new Kysely<Schema>({ dialect: new SignetSqliteDialect(database, 'changes', patience) });
  try {
    // Before anything is written: a trigger would take part in it.
    checkSchema(database, file, schemas, 'older-is-fine');
    database.pragma('journal_mode = WAL');
    await migrate(db, clock.now());
    breakSeal(database);
  } finally {
    // Closes the file also when the query layer was never used.
    await db.destroy();
    database.close();
  }
}

/** A log that belongs to another file would be written into this one when a connection that may write is closed: it is seen before. */
function checkWhole(file: string): void {
  try {
    checkOver(file, true);
  } catch (error) {
    // A change was cut off before there was such a log, and has to be taken back first.
    if (!isReadonly(error)) throw error;
    checkOver(file, false);
  }
}

function checkOver(file: string, readonly: boolean): void {
  const database = openDatabase(file, readonly);
  try {
    if (database.pragma('quick_check(1)', { simple: true }) !== 'ok') {
      throw new StoreRefusedError('corrupt', `store \`${file}\` is corrupt`);
    }
  } finally {
    database.close();
  }
}

/** Throws what SQLite says of a file that cannot be used, with nothing left open. */
function openDatabase(file: string, readonly = false): Database.Database {
  const database = new Database(file, { fileMustExist: true, timeout: 0, readonly });
  try {
    configure(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** What the log may hold on to on the disk when there is no need for it. */
const logBytes = 16_000_000;

function configure(database: Database.Database): void {
  database.pragma('foreign_keys = ON');
  database.pragma('synchronous = FULL');
  database.pragma('trusted_schema = OFF');
  // While a backup reads, the log grows; else it would stay that large.
  database.pragma(`journal_size_limit = ${logBytes}`);
}

interface Connections {
  readonly identity: FileIdentity;
  readonly reader: Kysely<Schema>;
  /** Absent in a store that is only read. */
  readonly writer: Kysely<Schema> | undefined;
}

class SqliteStoreDatabase implements StoreDatabase {
  readonly #file: string;
  readonly #readonly: boolean;
  readonly #schemas: KnownSchemas;
  #connections: Connections | undefined;
  #opening: Promise<Connections> | undefined;
  #closed = false;

  constructor(file: string, readonly: boolean, schemas: KnownSchemas) {
    this.#file = file;
    this.#readonly = readonly;
    this.#schemas = schemas;
  }

  async open(): Promise<void> {
    await this.#current();
  }

  async reader(): Promise<Kysely<Schema>> {
    return (await this.#current()).reader;
  }

  async writer(): Promise<Kysely<Schema>> {
    const { writer } = await this.#current();
    if (writer === undefined) throw new StoreUnavailableError('the store is opened for reading only');
    return writer;
  }

  translate(error: unknown): unknown {
    return translateError(error);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#opening?.catch(() => undefined);
    await this.#drop();
  }

  /** An open file goes on being readable after it was replaced, so the path is looked at each time. */
  async #current(): Promise<Connections> {
    if (this.#closed) throw new StoreUnavailableError('the store is closed');
    const identity = fileIdentity(this.#file);
    if (identity === undefined) throw new StoreUnavailableError('the file of the store is gone');
    const known = this.#connections;
    if (known?.identity.inode === identity.inode && known.identity.device === identity.device) return known;
    this.#opening ??= this.#reopen().finally(() => {
      this.#opening = undefined;
    });
    return await this.#opening;
  }

  async #reopen(): Promise<Connections> {
    await this.#drop();
    const identity = checkStoreFile(this.#file);
    const reads = openDatabase(this.#file, this.#readonly);
    reads.pragma('query_only = ON');
    // A reader waits only for recovery after a crash; it must not hold up the process for longer.
    reads.pragma('busy_timeout = 100');
    const reader = new Kysely<Schema>({ dialect: new SignetSqliteDialect(reads, 'reads') });
    try {
      checkSchema(reads, this.#file, this.#schemas);
      const writer = this.#readonly ? undefined : openWriter(this.#file);
      this.#connections = { identity, reader, writer };
      return this.#connections;
    } catch (error) {
      await closeConnection(reader);
      throw error;
    }
  }

  async #drop(): Promise<void> {
    const connections = this.#connections;
    this.#connections = undefined;
    if (connections === undefined) return;
    await closeConnection(connections.reader);
    if (connections.writer !== undefined) await closeConnection(connections.writer);
  }
}

function openWriter(file: string): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: new SignetSqliteDialect(openDatabase(file), 'changes') });
}

/** The query layer closes only a file that it has used. */
async function closeConnection(db: Kysely<Schema>): Promise<void> {
  await db
    .selectFrom('meta')
    .select('id')
    .limit(1)
    .execute()
    .catch(() => undefined);
  await db.destroy();
}
