import type { Kysely } from 'kysely';
import type { Moment, NewestRecord, StoreCondition } from '../model/store.ts';
import type { Schema } from './database-schema.ts';

/**
 * `acknowledged` is what somebody is told of: it must survive a power failure. `deferred` is what only a later, acknowledged transaction
 * makes count: it survives the end of this process, and a power failure with that later one.
 */
export type Durability = 'acknowledged' | 'deferred';

/** What a kind of database has to bring along: its connections and the meaning of its errors. */
export interface StoreDatabase {
  /** For reads that never wait for a writer. Throws when the database is gone. */
  reader(): Promise<Kysely<Schema>>;
  /**
   * Runs `work` in one transaction, which takes the write lock when it begins, waiting at most five seconds. Fulfilled when it is as
   * durable as asked for. Throws `UnacknowledgedChangeError` when it was committed and that cannot be said.
   */
  transact<Result>(work: (db: Kysely<Schema>) => Promise<Result>, durability?: Durability): Promise<Result>;
  condition(): StoreCondition;
  /** Writes something that means nothing, to see whether anything can be written. */
  tryWriting(): Promise<StoreCondition>;
  newestRecord(): Promise<NewestRecord | undefined>;
  /** When this process last wrote to the database by a clock that was not in doubt, or a later record of one before it in its place. */
  lastWritten(): Moment | undefined;
  /** The error of the database in the words of `errors.ts`. */
  translate(error: unknown): unknown;
  close(): Promise<void>;
}
