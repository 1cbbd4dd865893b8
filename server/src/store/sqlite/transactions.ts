import type Database from 'better-sqlite3';
import {
  type CompiledQuery,
  type DatabaseConnection,
  DefaultQueryExecutor,
  type DialectAdapter,
  DummyDriver,
  type Kysely,
  type QueryCompiler,
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
    const { connection } = this.#dialect;
    const isOpen = () => this.#database.inTransaction;
    const executor = new TransactionExecutor({ compiler: this.#compiler, adapter: this.#adapter, connection, isOpen });
    const config = { dialect: this.#dialect };
    const props = { config, dialect: this.#dialect, driver: this.#driver, executor };
    try {
      return await work(new Transaction<Schema>(props));
    } finally {
      executor.end();
    }
  }
}

interface ExecutorParts {
  readonly compiler: QueryCompiler;
  readonly adapter: DialectAdapter;
  readonly connection: DatabaseConnection;
  /** Whether a transaction is open: SQLite rolls back by itself after some errors. */
  readonly isOpen: () => boolean;
}

/**
 * Executes statements on the connection for as long as the work of a transaction runs and it is open: what comes later would be part of
 * another one, or of none. They take the shortest way: that of the query layer costs more than most of them.
 */
class TransactionExecutor extends DefaultQueryExecutor {
  readonly #connection: DatabaseConnection;
  readonly #isOpen: () => boolean;
  #isOver = false;

  constructor({ compiler, adapter, connection, isOpen }: ExecutorParts) {
    super(compiler, adapter, { provideConnection: (consumer) => this.#unlessOver(() => consumer(connection)) });
    this.#connection = connection;
    this.#isOpen = isOpen;
  }

  override executeQuery<Row>(query: CompiledQuery<unknown>): Promise<QueryResult<Row>> {
    return this.#unlessOver(() => this.#connection.executeQuery<Row>(query));
  }

  end(): void {
    this.#isOver = true;
  }

  #unlessOver<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#isOver || !this.#isOpen() ? Promise.reject(new Error('the transaction is over')) : work();
  }
}
