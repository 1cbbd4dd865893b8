import { yieldToOthers } from '@signet/policy-engine/internal/slices';
import type Database from 'better-sqlite3';
import type { CompiledQuery, Kysely, QueryResult } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Schema } from '../database-schema.ts';
import { queryLayer } from '../query-layer.ts';
import { LockRetry } from './lock.ts';

/** Limit of the time that statements hold up the process in a row, in milliseconds: neither a statement nor the promises between two wait. */
const longestRunMs = 4;

/** Queries over one connection to a SQLite file. Statements are prepared once, and one transaction is open at a time. */
export class SqliteQueries {
  /** For statements outside of transactions; they wait until an open transaction has ended. */
  readonly db: Kysely<Schema>;
  readonly #database: Database.Database;
  readonly #retry: LockRetry;
  readonly #begin: Database.Statement<unknown[]>;
  readonly #commit: Database.Statement<unknown[]>;
  readonly #rollback: Database.Statement<unknown[]>;
  readonly #statements = new LRUCache<string, Database.Statement<unknown[]>>({ max: 200 });
  /** Resolves when the open transaction has ended. */
  #open: Promise<void> | undefined;
  #spentMs = 0;

  /** A transaction for `changes` takes the lock of writers when it begins. */
  constructor(database: Database.Database, use: 'reads' | 'changes', retry: LockRetry = new LockRetry()) {
    this.#database = database;
    this.#retry = retry;
    this.#begin = database.prepare(use === 'changes' ? 'begin immediate' : 'begin');
    this.#commit = database.prepare('commit');
    this.#rollback = database.prepare('rollback');
    this.db = queryLayer('sqlite', async <Row>(query: CompiledQuery) => {
      while (this.#open !== undefined) await this.#open;
      return this.#execute<Row>(query);
    });
  }

  /**
   * Runs `work` in a transaction. Waits for the lock without holding up the process, as SQLite's own waiting would. Throws what `work` throws and
   * errors of SQLite, with nothing changed.
   */
  async transact<Result>(work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result> {
    while (this.#open !== undefined) await this.#open;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open = promise;
    let isOver = false;
    // A late statement would be part of another transaction, or of none. SQLite rolls back by itself after some errors.
    const db = queryLayer('sqlite', <Row>(query: CompiledQuery) =>
      isOver || !this.#database.inTransaction
        ? Promise.reject(new Error('the transaction is over'))
        : this.#execute<Row>(query),
    );
    try {
      await this.#retry.waitFor(async () => this.#begin.run());
      const result = await work(db);
      this.#commit.run();
      return result;
    } catch (error) {
      // After a roll-back by SQLite (a full disk) the error is what matters.
      if (this.#database.open && this.#database.inTransaction) this.#rollback.run();
      throw error;
    } finally {
      isOver = true;
      this.#open = undefined;
      resolve();
    }
  }

  /** Closes the connection once an open transaction has ended. */
  async close(): Promise<void> {
    while (this.#open !== undefined) await this.#open;
    this.#database.close();
  }

  async #execute<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const start = performance.now();
    const statement = this.#prepared(sql);
    const result: QueryResult<Row> = statement.reader
      ? { rows: statement.all(...parameters) as Row[] }
      : { rows: [], numAffectedRows: BigInt(statement.run(...parameters).changes) };
    this.#spentMs += performance.now() - start;
    if (this.#spentMs >= longestRunMs) {
      this.#spentMs = 0;
      await yieldToOthers();
    }
    return result;
  }

  #prepared(sql: string): Database.Statement<unknown[]> {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement: Database.Statement<unknown[]> = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
