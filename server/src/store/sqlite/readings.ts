import type Database from 'better-sqlite3';
import type { Kysely } from 'kysely';
import type { Schema } from '../database-schema.ts';
import { SqliteQueries } from './sqlite-queries.ts';

/** The connection that reads a store. */
export class StoreReadings {
  readonly queries: SqliteQueries;
  readonly #begin: Database.Statement<unknown[]>;
  readonly #commit: Database.Statement<unknown[]>;
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    database.pragma('query_only = ON');
    // A reader waits only for recovery after a crash; it must not hold up the process for longer.
    database.pragma('busy_timeout = 100');
    this.queries = new SqliteQueries(database, 'reads');
    this.#database = database;
    this.#begin = database.prepare('begin');
    this.#commit = database.prepare('commit');
  }

  /** Statements in words that are executed before `start` returns take the lock of readers once, and see the store as of one instant. */
  atOneInstant(start: (db: Kysely<Schema>) => void): void {
    const begins = !this.#database.inTransaction;
    if (begins) this.#begin.run();
    try {
      start(this.queries.db);
    } finally {
      // After some errors SQLite has ended it by itself.
      if (begins && this.#database.inTransaction) this.#commit.run();
    }
  }
}
