import type Database from 'better-sqlite3';
import {
  type CompiledQuery,
  type ConnectionProvider,
  type DatabaseConnection,
  DefaultQueryExecutor,
  DummyDriver,
  type Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteQueryCompiler,
  Transaction,
} from 'kysely';
import type { Schema } from '../database-schema.ts';
import { SignetSqliteDialect } from './dialect.ts';
import { LockRetry } from './lock.ts';

/** Runs work of the query layer in the transaction that is open, once. */
type Run = <Result>(work: (db: Kysely<Schema>) => Promise<Result>) => Promise<Result>;

/** Transactions of one connection that changes a store, without the way of the query layer's own. One at a time: who calls sees to that. */
export class Transactions {
  readonly #database: Database.Database;
  readonly #dialect: SignetSqliteDialect;
  readonly #driver = new DummyDriver();
  readonly #compiler = new SqliteQueryCompiler();
  readonly #adapter = new SqliteAdapter();
  readonly #retry = new LockRetry();
  readonly #begin: Database.Statement<unknown[]>;
  readonly #commit: Database.Statement<unknown[]>;
  readonly #rollback: Database.Statement<unknown[]>;

  constructor(database: Database.Database) {
    this.#database = database;
    this.#dialect = new SignetSqliteDialect(database, 'changes');
    this.#begin = database.prepare('begin immediate');
    this.#commit = database.prepare('commit');
    this.#rollback = database.prepare('rollback');
  }

  /** Waits for the lock of writers. Throws what `body` throws and errors of SQLite, with nothing changed. */
  async execute<Result>(body: (run: Run) => Promise<Result>): Promise<Result> {
    await this.#retry.waitFor(async () => this.#begin.run());
    try {
      const result = await body((work) => this.#run(work));
      this.#commit.run();
      return result;
    } catch (error) {
      // SQLite has rolled back by itself after some errors (a full disk): the error is then what matters, not that.
      if (this.#database.inTransaction) this.#rollback.run();
      throw error;
    }
  }

  async #run<Result>(work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result> {
    const opened = new OpenTransaction(this.#dialect.connection);
    const executor = new TransactionExecutor(this.#compiler, this.#adapter, opened);
    const config = { dialect: this.#dialect };
    const props = { config, dialect: this.#dialect, driver: this.#driver, executor };
    try {
      return await work(new Transaction<Schema>(props));
    } finally {
      opened.isOver = true;
    }
  }
}

/** Gives out the connection for as long as its work runs: what comes later would be part of another transaction, or of none. */
class OpenTransaction implements ConnectionProvider {
  readonly #connection: DatabaseConnection;
  isOver = false;

  constructor(connection: DatabaseConnection) {
    this.#connection = connection;
  }

  provideConnection<Result>(consumer: (connection: DatabaseConnection) => Promise<Result>): Promise<Result> {
    if (this.isOver) return Promise.reject(new Error('the transaction is over'));
    return consumer(this.#connection);
  }
}

/** Statements take the shortest way to the connection: that of the query layer costs more than most of them. */
class TransactionExecutor extends DefaultQueryExecutor {
  override executeQuery<Row>(query: CompiledQuery<unknown>): Promise<QueryResult<Row>> {
    return this.provideConnection((connection) => connection.executeQuery<Row>(query));
  }
}
