import type Database from 'better-sqlite3';
import { Kysely } from 'kysely';
import type { Schema } from '../database-schema.ts';
import { executeDirectly, SignetSqliteDialect } from './dialect.ts';

/** The connection that reads a store. */
export class StoreReadings {
  readonly db: Kysely<Schema>;
  readonly #begin: Database.Statement<unknown[]>;
  readonly #commit: Database.Statement<unknown[]>;
  readonly #database: Database.Database;
  #isStarting = false;

  constructor(database: Database.Database) {
    database.pragma('query_only = ON');
    // A reader waits only for recovery after a crash; it must not hold up the process for longer.
    database.pragma('busy_timeout = 100');
    const dialect = new SignetSqliteDialect(database, 'reads');
    this.db = new Kysely<Schema>({ dialect });
    this.#database = database;
    this.#begin = database.prepare('begin');
    this.#commit = database.prepare('commit');
    // One that is in a transaction sees the store as it was when that began.
    executeDirectly(this.db, dialect.connection, () => database.open && (this.#isStarting || !database.inTransaction));
  }

  /** Statements in words that are executed before `start` returns take the lock of readers once, and see the store as of one instant. */
  atOneInstant(start: (db: Kysely<Schema>) => void): void {
    const begins = !this.#database.inTransaction;
    if (begins) this.#begin.run();
    this.#isStarting = begins;
    try {
      start(this.db);
    } finally {
      this.#isStarting = false;
      // After some errors SQLite has ended it by itself.
      if (begins && this.#database.inTransaction) this.#commit.run();
    }
  }

  /** Once a view that is open has ended. The query layer closes only a connection that it has given out. */
  async close(): Promise<void> {
    await this.db.connection().execute(async () => undefined);
    await this.db.destroy();
  }
}
