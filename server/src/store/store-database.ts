import type { Kysely } from 'kysely';
import type { Schema } from './schema.ts';

/** What a kind of database has to bring along: its connections and the meaning of its errors. */
export interface StoreDatabase {
  /** For reads that never wait for a writer. Throws when the database is gone. */
  reader(): Promise<Kysely<Schema>>;
  /** For changes: a transaction on it takes the write lock when it begins, waiting at most five seconds. */
  writer(): Promise<Kysely<Schema>>;
  /** The error of the database in the words of `errors.ts`. */
  translate(error: unknown): unknown;
  close(): Promise<void>;
}
