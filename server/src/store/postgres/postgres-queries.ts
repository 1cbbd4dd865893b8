import type { CompiledQuery, Kysely, KyselyPlugin, QueryResult } from 'kysely';
import type pg from 'pg';
import { StoreUnavailableError, UnacknowledgedChangeError } from '../../errors.ts';
import type { Schema } from '../database-schema.ts';
import { queryLayer } from '../query-layer.ts';
import type { PostgresConnections } from './connections.ts';
import { isConnectionLost } from './postgres-errors.ts';

/** How the transactions of one use begin and end. */
export interface TransactionUse {
  /** Statements without parameters: they go to the database in one message. */
  readonly begin: string;
  readonly commit: string;
  /** A statement that has no answer for so long has failed, in milliseconds. */
  readonly timeoutMs: number;
}

/** Queries of one use, over connections that find the primary among several hosts. */
export class PostgresQueries {
  /** For statements outside of transactions, each over a connection of its own. */
  readonly db: Kysely<Schema>;
  readonly #connections: PostgresConnections;
  readonly #use: TransactionUse;
  readonly #plugins: readonly KyselyPlugin[];

  constructor(connections: PostgresConnections, use: TransactionUse, plugins: readonly KyselyPlugin[] = []) {
    this.#connections = connections;
    this.#use = use;
    this.#plugins = plugins;
    const execute = <Row>(query: CompiledQuery) => this.#connected((connection) => connection.execute<Row>(query));
    this.db = queryLayer('postgres', execute, plugins);
  }

  /**
   * Runs `work` in a transaction. Throws what `work` throws, with nothing changed, and `UnacknowledgedChangeError` when it is unknown whether,
   * or on how many machines, it was committed.
   */
  transact<Result>(work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result> {
    return this.#connected(async (connection) => {
      let isOver = false;
      const execute = <Row>(query: CompiledQuery) =>
        isOver ? Promise.reject(new Error('the transaction is over')) : connection.execute<Row>(query);
      try {
        await connection.query(this.#use.begin);
        const result = await work(queryLayer('postgres', execute, this.#plugins));
        await connection.commit(this.#use.commit);
        return result;
      } catch (error) {
        // Also when it stops at its lock while it begins.
        await connection.rollBack();
        throw error;
      } finally {
        isOver = true;
      }
    });
  }

  async #connected<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    const connection = new Connection(await this.#connections.connect(), this.#connections, this.#use.timeoutMs);
    try {
      return await work(connection);
    } finally {
      connection.release();
    }
  }
}

/** An answer that takes longer may never come: another host may have become the primary. In milliseconds. */
const slowMs = 1500;

/** A connection from when it is taken from the pool until it is given back. */
class Connection {
  readonly #client: pg.PoolClient;
  readonly #connections: PostgresConnections;
  readonly #timeoutMs: number;
  #isBroken = false;

  constructor(client: pg.PoolClient, connections: PostgresConnections, timeoutMs: number) {
    this.#client = client;
    this.#connections = connections;
    this.#timeoutMs = timeoutMs;
  }

  async execute<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const { command, rowCount, rows } = await this.query(sql, [...parameters]);
    const changes = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE';
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
      ended = (await this.query(text)).command;
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
      throw new UnacknowledgedChangeError(
        'the connection to the database was lost: it is unknown whether the change was saved',
        {
          cause: error,
        },
      );
    } finally {
      this.#client.off('notice', note);
    }
    // The answer to a commit of what has failed is a roll-back, and no error.
    if (ended !== 'COMMIT') throw new StoreUnavailableError('the change was not saved: one of its statements failed');
    if (warning === undefined) return;
    throw new UnacknowledgedChangeError('the change may not be on every database server that it has to be on', {
      detail: { warning },
    });
  }

  /** A connection that cannot even roll back is not used again; why the transaction failed is what matters. */
  async rollBack(): Promise<void> {
    if (this.#isBroken) return;
    try {
      await this.query('rollback');
    } catch {
      this.#isBroken = true;
    }
  }

  release(): void {
    this.#client.release(this.#isBroken);
  }

  async query(text: string, values: unknown[] = []): Promise<pg.QueryResult> {
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
