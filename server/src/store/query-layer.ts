import {
  type CompiledQuery,
  DefaultQueryExecutor,
  type Dialect,
  DummyDriver,
  type Kysely,
  type KyselyPlugin,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  Transaction,
} from 'kysely';
import type { Schema } from './database-schema.ts';

/** Executes one compiled statement. The rows have the shape that the statement was built for. */
type Execute = <Row>(query: CompiledQuery) => Promise<QueryResult<Row>>;

/** SQLite changes its schema inside transactions as well. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** The transaction of a migration holds an advisory lock; one of the session would be lost behind a pooler. */
class UnlockedPostgresAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}

  override async releaseMigrationLock(): Promise<void> {}
}

const createDriver = () => new DummyDriver();

const dialects: Readonly<Record<'sqlite' | 'postgres', Dialect>> = {
  sqlite: {
    createDriver,
    createAdapter: () => new TransactionalSqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  },
  postgres: {
    createDriver,
    createAdapter: () => new UnlockedPostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  },
};

/** Kysely as a query builder alone: it compiles statements for `execute`; connections and transactions are the store's own. */
export function queryLayer(
  kind: keyof typeof dialects,
  execute: Execute,
  plugins: readonly KyselyPlugin[] = [],
): Kysely<Schema> {
  const dialect = dialects[kind];
  const executor = new PortExecutor(dialect, execute, plugins);
  // A `Transaction`, as Kysely begins none by itself then, its migrator included.
  return new Transaction<Schema>({ config: { dialect }, dialect, driver: dialect.createDriver(), executor });
}

/** Hands each statement to the port at once: Kysely's own way through drivers and connections takes longer than most statements. */
class PortExecutor extends DefaultQueryExecutor {
  readonly #execute: Execute;

  constructor(dialect: Dialect, execute: Execute, plugins: readonly KyselyPlugin[]) {
    const streamQuery = () => {
      throw new Error('the store reads in pages');
    };
    super(
      dialect.createQueryCompiler(),
      dialect.createAdapter(),
      { provideConnection: (consumer) => consumer({ executeQuery: execute, streamQuery }) },
      [...plugins],
    );
    this.#execute = execute;
  }

  override executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return this.#execute<Row>(query);
  }
}
