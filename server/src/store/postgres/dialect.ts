import {
  CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryCompiler,
  type QueryResult,
} from 'kysely';
import type pg from 'pg';
import { StoreUnavailableError, UnacknowledgedChangeError } from '../../errors.ts';
import type { PostgresConnections } from './connections.ts';
import { isConnectionLost } from './postgres-errors.ts';

/** Statements that begin and end the transactions of one use. */
export interface TransactionUse {
  /** Statements without parameters: they go to the database in one message. */
  readonly begin: string;
  readonly commit: string;
  /** Timeout of a statement, in milliseconds. */
  readonly timeoutMs: number;
}

/** PostgreSQL for the query layer, over connections that find the primary among several hosts. */
export class SignetPostgresDialect implements Dialect {
  readonly #connections: PostgresConnections;
  readonly #use: TransactionUse;

  constructor(connections: PostgresConnections, use: TransactionUse) {
    this.#connections = connections;
    this.#use = use;
  }

  createDriver(): Driver {
    return new PostgresDriver(this.#connections, this.#use);
  }

  createQueryCompiler(): QueryCompiler {
    return new PostgresQueryCompiler();
  }

  createAdapter(): DialectAdapter {
    return new PostgresAdapter();
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new PostgresIntrospector(db);
  }
}

class PostgresDriver implements Driver {
  readonly #connections: PostgresConnections;
  readonly #use: TransactionUse;
  readonly #known = new WeakMap<pg.PoolClient, PostgresConnection>();

  constructor(connections: PostgresConnections, use: TransactionUse) {
    this.#connections = connections;
    this.#use = use;
  }

  async init(): Promise<void> {}

  /** The same object for a client each time: the query layer knows a connection by it. */
  async acquireConnection(): Promise<DatabaseConnection> {
    const client = await this.#connections.connect();
    const known = this.#known.get(client) ?? new PostgresConnection(client, this.#connections, this.#use.timeoutMs);
    this.#known.set(client, known);
    return known;
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await connection.executeQuery(CompiledQuery.raw(this.#use.begin));
    } catch (error) {
      // The transaction has begun, and stops at its lock: it must be rolled back here.
      await ours(connection).rollBack();
      throw error;
    }
  }

  /** Commits. Throws `UnacknowledgedChangeError` when it is unknown whether, or on how many machines, it was committed. */
  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await ours(connection).commit(this.#use.commit);
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // A connection that cannot even roll back is not used again; why the transaction failed is what matters.
    await ours(connection).rollBack();
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    ours(connection).release();
  }

  /** Connections are closed by their owner. */
  async destroy(): Promise<void> {}
}

function ours(connection: DatabaseConnection): PostgresConnection {
  if (connection instanceof PostgresConnection) return connection;
  throw new TypeError('a connection of another driver');
}

/** An answer that takes longer may never come: another host may have become the primary. In milliseconds. */
const slowMs = 1500;

class PostgresConnection implements DatabaseConnection {
  readonly #client: pg.PoolClient;
  readonly #connections: PostgresConnections;
  readonly #timeoutMs: number;
  #isBroken = false;

  constructor(client: pg.PoolClient, connections: PostgresConnections, timeoutMs: number) {
    this.#client = client;
    this.#connections = connections;
    this.#timeoutMs = timeoutMs;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { command, rowCount, rows } = await this.#query(query.sql, [...query.parameters]);
    const changes = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE';
    // The row type follows from the query.
    return { rows: (rows ?? []) as Row[], ...(changes && { numAffectedRows: BigInt(rowCount ?? 0) }) };
  }

  async commit(text: string): Promise<void> {
    // A commit that gave up waiting for the standbys says so in a warning, and ends well.
    let warning: string | undefined;
    const note = (notice: { readonly message?: string | undefined; readonly severity?: string | undefined }): void => {
      if (notice.severity === 'WARNING') warning ??= notice.message;
    };
    this.#client.on('notice', note);
    let ended: string;
    try {
      ended = (await this.#query(text, [])).command;
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
      throw new UnacknowledgedChangeError(
        'the connection to the database broke: whether the change was made is unknown',
        {
          cause: error,
        },
      );
    } finally {
      this.#client.off('notice', note);
    }
    // A failed transaction answers a commit with a roll-back, and no error.
    if (ended !== 'COMMIT') throw new StoreUnavailableError('the change was not made: a statement of it had failed');
    if (warning === undefined) return;
    throw new UnacknowledgedChangeError('the change may not be on every database server that it has to be on', {
      detail: { warning },
    });
  }

  streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('the store reads in pages');
  }

  async rollBack(): Promise<void> {
    if (this.#isBroken) return;
    try {
      await this.#query('rollback', []);
    } catch {
      this.#isBroken = true;
    }
  }

  release(): void {
    this.#client.release(this.#isBroken);
  }

  async #query(text: string, values: unknown[]): Promise<pg.QueryResult> {
    const slow = setTimeout(() => this.#connections.suspect(), slowMs);
    try {
      return await this.#client.query({ text, values, query_timeout: this.#timeoutMs } as pg.QueryConfig);
    } catch (error) {
      if (isConnectionLost(error)) {
        this.#isBroken = true;
        this.#connections.suspect();
      }
      throw error;
    } finally {
      clearTimeout(slow);
    }
  }
}
