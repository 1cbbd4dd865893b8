import type { Kysely } from 'kysely';
import type { Moment, NewestRecord, PoolUse, StoreCondition, StoreState } from '../model/store.ts';
import type { Schema } from './database-schema.ts';

/**
 * `acknowledged` changes are confirmed to a client: they must survive a power failure. `deferred` ones take effect only by a later, acknowledged
 * transaction: they survive the end of this process, and a power failure with that later one.
 */
export type Durability = 'acknowledged' | 'deferred';

/** Port to a kind of database: its connections and the meaning of its errors. */
export interface StoreDatabase {
  /** Connection for single statements, which never wait for a writer. Throws when the database is gone. */
  reader(): Promise<Kysely<Schema>>;
  /** Calls `start` with what `reader` answers: what many ask for at once costs less so. Throws as `reader` does, before it is called. */
  startReads(start: (db: Kysely<Schema>) => void): Promise<void>;
  /** State of the store, if one statement can read it; else it is read like everything else. */
  state?(): Promise<StoreState>;
  /** Runs `work` on the database as of one instant. */
  view<Result>(work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result>;
  /**
   * Runs `work` in one transaction, waiting at most five seconds for others. It may run at the same time as others of its kind (in other
   * processes), never as one of `transactAlone`. Fulfilled when it is as durable as asked for. Throws `UnacknowledgedChangeError` when it was
   * committed, or may have been, and that cannot be said. `work` may run again.
   */
  transact<Result>(work: (db: Kysely<Schema>) => Promise<Result>, durability?: Durability): Promise<Result>;
  /** The same, acknowledged, and never at the same time as any other. INVARIANT: what a right depends on changes here only. */
  transactAlone<Result>(work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result>;
  /** The last statements of a transaction that ran alone and changed the counters, where the kind of database has any. */
  noteChange?(db: Kysely<Schema>): Promise<void>;
  /** Registers a listener for possible changes, sooner than a poll would find them. */
  watch?(listener: () => void): void;
  /** Connections in use and idle, and waiting requests; absent without a pool. */
  connections?(): PoolUse | undefined;
  condition(): StoreCondition;
  /** Writes something that means nothing, to see whether anything can be written. */
  tryWriting(): Promise<StoreCondition>;
  newestRecord(): Promise<NewestRecord | undefined>;
  /** Time of this process's last write to the database by a clock that was not in doubt, or a later record of one before it in its place. */
  lastWritten(): Moment | undefined;
  /** See `Store.aheadOfDatabase`; absent: the database has no clock of its own. */
  aheadOfDatabase?(): number | undefined;
  /** The error of the database in the words of `errors.ts`. */
  translate(error: unknown): unknown;
  close(): Promise<void>;
}
