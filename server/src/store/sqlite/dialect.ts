import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { LockRetry } from './lock.ts';

/**
 * SQLite for the query layer, with four differences. A transaction takes the write lock when it begins and waits for it without
 * holding up the process (SQLite's own waiting would stop every request). Schema changes run inside transactions, which SQLite
 * can do. Statements are prepared once. Many statements in a row let others run in between.
 */
export class SignetSqliteDialect extends SqliteDialect {
  readonly #database: Database.Database;
  readonly #statements: SqliteDatabase;
  readonly #begin: string;
  readonly #retry: LockRetry;

  constructor(database: Database.Database, use: 'reads' | 'changes', retry: LockRetry = new LockRetry()) {
    const statements = cachingStatements(database);
    super({ database: statements });
    this.#database = database;
    this.#statements = statements;
    this.#begin = use === 'changes' ? 'begin immediate' : 'begin';
    this.#retry = retry;
  }

  override createDriver(): Driver {
    return new RetryingDriver(this.#database, this.#statements, this.#begin, this.#retry);
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalAdapter();
  }
}

class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class RetryingDriver extends SqliteDriver {
  readonly #database: Database.Database;
  readonly #begin: string;
  readonly #retry: LockRetry;
  #connection: DatabaseConnection | undefined;

  constructor(database: Database.Database, statements: SqliteDatabase, begin: string, retry: LockRetry) {
    super({ database: statements });
    this.#database = database;
    this.#begin = begin;
    this.#retry = retry;
  }

  /** The same object each time: the query layer knows a connection by it. */
  override async acquireConnection(): Promise<DatabaseConnection> {
    this.#connection ??= new YieldingConnection(await super.acquireConnection());
    return this.#connection;
  }

  /** SQLite has rolled back by itself after some errors (a full disk): the error is then what matters, not that. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.inTransaction) await super.rollbackTransaction(connection);
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await this.#retry.waitFor(() => connection.executeQuery(CompiledQuery.raw(this.#begin)));
  }
}

/** Statements hold up the process for at most so long in a row, in milliseconds: a statement does not wait, nor do the promises between two. */
const longestRun = 4;

class YieldingConnection implements DatabaseConnection {
  readonly #connection: DatabaseConnection;
  #spent = 0;

  constructor(connection: DatabaseConnection) {
    this.#connection = connection;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const start = performance.now();
    const result = await this.#connection.executeQuery<Row>(query);
    this.#spent += performance.now() - start;
    if (this.#spent >= longestRun) {
      this.#spent = 0;
      await yieldToOthers();
    }
    return result;
  }

  streamQuery<Row>(query: CompiledQuery, chunkSize?: number): AsyncIterableIterator<QueryResult<Row>> {
    return this.#connection.streamQuery<Row>(query, chunkSize ?? 1);
  }
}

function cachingStatements(database: Database.Database): SqliteDatabase {
  const statements = new LRUCache<string, SqliteStatement>({ max: 200 });
  return {
    close: () => void database.close(),
    prepare: (sql) => {
      const known = statements.get(sql);
      if (known !== undefined) return known;
      const statement: Database.Statement<unknown[]> = database.prepare(sql);
      const prepared: SqliteStatement = {
        reader: statement.reader,
        all: (parameters) => statement.all(...parameters),
        run: (parameters) => statement.run(...parameters),
        iterate: (parameters) => statement.iterate(...parameters),
      };
      statements.set(sql, prepared);
      return prepared;
    },
  };
}
