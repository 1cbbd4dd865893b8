import { yieldToOthers } from '@signet/policy-engine/internal/slices';
import type Database from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type Kysely,
  type QueryResult,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Schema } from '../database-schema.ts';
import { LockRetry } from './lock.ts';

/**
 * SQLite for the query layer, with four differences. A transaction takes the write lock when it begins and waits for it without
 * holding up the process (SQLite's own waiting would stop every request). Schema changes run inside transactions, which SQLite
 * can do. Statements are prepared once. Many statements in a row let others run in between.
 */
export class SignetSqliteDialect extends SqliteDialect {
  /** The only one. */
  readonly connection: DatabaseConnection;
  readonly #database: Database.Database;
  readonly #statements: SqliteDatabase;
  readonly #begin: string;
  readonly #retry: LockRetry;

  constructor(database: Database.Database, use: 'reads' | 'changes', retry: LockRetry = new LockRetry()) {
    const statements = cachingStatements(database);
    super({ database: statements });
    this.connection = new YieldingConnection(statements);
    this.#database = database;
    this.#statements = statements;
    this.#begin = use === 'changes' ? 'begin immediate' : 'begin';
    this.#retry = retry;
  }

  override createDriver(): Driver {
    const { connection } = this;
    const begin = () => this.#retry.waitFor(() => connection.executeQuery(CompiledQuery.raw(this.#begin)));
    return new RetryingDriver(this.#database, this.#statements, { connection, begin });
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalAdapter();
  }
}

/** Executes the statements of `db` directly on its connection while `isFree`: the way through the query layer costs more than most of them. */
export function executeDirectly(db: Kysely<Schema>, connection: DatabaseConnection, isFree: () => boolean): void {
  const executor = db.getExecutor();
  const throughLayer = executor.executeQuery.bind(executor);
  executor.executeQuery = (query, options) =>
    isFree() ? connection.executeQuery(query) : throughLayer(query, options);
}

class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

interface OneConnection {
  readonly connection: DatabaseConnection;
  readonly begin: () => Promise<unknown>;
}

class RetryingDriver extends SqliteDriver {
  readonly #database: Database.Database;
  readonly #one: OneConnection;

  constructor(database: Database.Database, statements: SqliteDatabase, one: OneConnection) {
    super({ database: statements });
    this.#database = database;
    this.#one = one;
  }

  /** The same object each time: the query layer knows a connection by it. */
  override acquireConnection(): Promise<DatabaseConnection> {
    return Promise.resolve(this.#one.connection);
  }

  /** SQLite has rolled back by itself after some errors (a full disk): the error is then what matters, not that. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.inTransaction) await super.rollbackTransaction(connection);
  }

  override async beginTransaction(): Promise<void> {
    await this.#one.begin();
  }
}

/** Maximum time in a row for which statements block the process, in milliseconds: a statement does not wait, nor do the promises between two. */
const longestRun = 4;

class YieldingConnection implements DatabaseConnection {
  readonly #statements: SqliteDatabase;
  #spent = 0;

  constructor(statements: SqliteDatabase) {
    this.#statements = statements;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const start = performance.now();
    const statement = this.#statements.prepare(sql);
    const result: QueryResult<Row> = statement.reader
      ? { rows: statement.all(parameters) as Row[] }
      : { rows: [], numAffectedRows: BigInt(statement.run(parameters).changes) };
    this.#spent += performance.now() - start;
    if (this.#spent >= longestRun) {
      this.#spent = 0;
      await yieldToOthers();
    }
    return result;
  }

  async *streamQuery<Row>({ sql, parameters }: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    for (const row of this.#statements.prepare(sql).iterate(parameters)) yield { rows: [row as Row] };
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
