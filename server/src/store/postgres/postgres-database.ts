import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@signet/policy-engine/clock';
import { type Kysely, sql } from 'kysely';
import { StoreReadOnlyError } from '../../errors.ts';
import type { Moment, NewestRecord, PoolUse, StoreCondition, StoreState } from '../../model/store.ts';
import { headOfChanges } from '../change-rows.ts';
import type { Schema } from '../database-schema.ts';
import type { Durability, StoreDatabase } from '../store-database.ts';
import type { PostgresConnections } from './connections.ts';
import { type Listener, tellOthers } from './listen.ts';
import { isReadOnly, isWorthRepeating, translateError } from './postgres-errors.ts';
import { PostgresQueries } from './postgres-queries.ts';
import type { Uses } from './uses.ts';

/** A change that ended because of others is done again this often, after ever longer pauses (milliseconds, with full jitter). */
const repeatsAllowed = 3;
const firstPauseMs = 20;

interface PostgresDeps {
  readonly connections: PostgresConnections;
  readonly uses: Uses;
  readonly readonly: boolean;
  readonly clock: Clock;
  readonly monotonic: () => number;
  /** Listener for the changes of other servers, and sender of own ones; absent: the others poll. */
  readonly listener: Listener | undefined;
}

/** Result of one query of the database's state. */
interface Seen {
  readonly state: StoreState;
  /** Time of the newest change. */
  readonly at: number;
  readonly time: Moment;
  /** Lead of the own clock over the database before the query, in milliseconds. */
  readonly aheadMs: number;
}

/** A PostgreSQL database with any number of servers on it. */
export class PostgresStoreDatabase implements StoreDatabase {
  readonly #deps: PostgresDeps;
  readonly #reader: Kysely<Schema>;
  readonly #views: PostgresQueries;
  readonly #shared: PostgresQueries;
  readonly #deferred: PostgresQueries;
  readonly #alone: PostgresQueries;
  #condition: StoreCondition = 'writable';
  #seen: Seen | undefined;
  /** Since the last look. */
  #hasWritten = false;

  constructor(deps: PostgresDeps) {
    this.#deps = deps;
    const { connections, uses } = deps;
    this.#reader = new PostgresQueries(connections, uses.reads).db;
    this.#views = new PostgresQueries(connections, uses.views);
    this.#shared = new PostgresQueries(connections, uses.shared);
    this.#deferred = new PostgresQueries(connections, uses.deferred);
    this.#alone = new PostgresQueries(connections, uses.alone);
  }

  async reader(): Promise<Kysely<Schema>> {
    return this.#reader;
  }

  async startReads(start: (db: Kysely<Schema>) => void): Promise<void> {
    start(this.#reader);
  }

  connections(): PoolUse {
    return this.#deps.connections.use();
  }

  view<Result>(work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result> {
    return this.#views.transact(work);
  }

  transact<Result>(
    work: (db: Kysely<Schema>) => Promise<Result>,
    durability: Durability = 'acknowledged',
  ): Promise<Result> {
    const queries = durability === 'deferred' ? this.#deferred : this.#shared;
    return this.#writing(() => queries.transact(work));
  }

  transactAlone<Result>(work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result> {
    return this.#writing(() => this.#alone.transact(work));
  }

  /** The time is the one of the database: it is the same for all servers. */
  async noteChange(db: Kysely<Schema>): Promise<void> {
    await sql.raw(this.#deps.listener === undefined ? noteTime : `${noteTime}; ${tellOthers}`).execute(db);
  }

  condition(): StoreCondition {
    return this.#deps.readonly ? 'read-only' : this.#condition;
  }

  async tryWriting(): Promise<StoreCondition> {
    try {
      await this.transactAlone((db) =>
        db
          .updateTable('meta')
          .set((meta) => ({ sequence: meta('sequence', '+', 1) }))
          .where('id', '=', 1)
          .execute(),
      );
    } catch (error) {
      if (isReadOnly(error)) this.#condition = 'read-only';
    }
    return this.condition();
  }

  async state(): Promise<StoreState> {
    return (await this.#look()).state;
  }

  /** Newest record by the last query of the state, which every server repeats all the time; after own changes there is another one. */
  async newestRecord(): Promise<NewestRecord | undefined> {
    const { at } = this.#hasWritten || this.#seen === undefined ? await this.#look() : this.#seen;
    return at === 0 ? undefined : { at, own: false };
  }

  /** INVARIANT: the clock of the database is the second witness: no server writes down its own. */
  lastWritten(): Moment | undefined {
    return this.#seen?.time;
  }

  aheadOfDatabase(): number | undefined {
    return this.#seen?.aheadMs;
  }

  translate(error: unknown): unknown {
    return translateError(error);
  }

  watch(listener: () => void): void {
    this.#deps.listener?.onHint(listener);
    this.#deps.connections.onRecovered(listener);
  }

  async close(): Promise<void> {
    // In parallel: callers that wait for a database that is away get their error.
    await Promise.all([this.#deps.listener?.close(), this.#deps.connections.close()]);
  }

  async #look(): Promise<Seen> {
    this.#hasWritten = false;
    const before = this.#deps.clock.now();
    const meta = this.#reader.selectFrom('meta').where('id', '=', 1);
    const row = await meta
      .select(['epoch', 'counter', headOfChanges.as('head'), 'written_at', databaseClock.as('now')])
      .executeTakeFirstOrThrow();
    const { written_at: at, now: wall, ...state } = row;
    this.#seen = { state, at, time: { wall, monotonic: this.#deps.monotonic() }, aheadMs: before - wall };
    return this.#seen;
  }

  async #writing<Result>(transact: () => Promise<Result>): Promise<Result> {
    if (this.#deps.readonly) throw new StoreReadOnlyError('the store is opened for reading only');
    for (let repeats = 0; ; repeats++) {
      try {
        const result = await transact();
        this.#condition = 'writable';
        this.#hasWritten = true;
        return result;
      } catch (error) {
        if (isReadOnly(error)) this.#condition = 'read-only';
        if (!isWorthRepeating(error) || repeats === repeatsAllowed) throw error;
        await sleep(Math.random() * firstPauseMs * 2 ** repeats);
      }
    }
  }
}

const databaseClock = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;
const noteTime = `update meta set sequence = sequence + 1,
  written_at = (extract(epoch from clock_timestamp()) * 1000)::bigint where id = 1`;
