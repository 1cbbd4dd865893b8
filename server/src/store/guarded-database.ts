import type { Kysely } from 'kysely';
import { DomainError, UnacknowledgedChangeError } from '../errors.ts';
import type { Schema } from './database-schema.ts';
import type { Durability, StoreDatabase } from './store-database.ts';

/** Reads and changes of one database, with its errors in the words of `errors.ts`. */
export interface GuardedDatabase {
  /** Runs `query` beside others; begun after it was asked for, with those asked for at the same time. */
  read<Result>(query: (db: Kysely<Schema>) => Promise<Result>): Promise<Result>;
  /**
   * Runs `work` in a transaction that it may share with others asked for at the same time: one write to the disk serves them all. It
   * sees what those before it did. Settled when the transaction is as durable as asked for (default: as what is acknowledged). May be run a
   * second time when another one failed.
   */
  change<Result>(work: (db: Kysely<Schema>) => Promise<Result>, durability?: Durability): Promise<Result>;
}

/** Maximum of works that share the next transaction. */
const maxShared = 64;

interface Waiting {
  readonly durability: Durability;
  /** Does the work in the transaction; what it answers is kept until the transaction has ended well. */
  run(db: Kysely<Schema>): Promise<void>;
  succeed(): void;
  fail(error: unknown): void;
}

interface Reading {
  start(db: Kysely<Schema>): void;
  fail(error: unknown): void;
}

export function guardDatabase(database: StoreDatabase): GuardedDatabase {
  const translated = (error: unknown) => (error instanceof DomainError ? error : database.translate(error));
  const queue: Waiting[] = [];
  let busy = false;

  const transact = async (works: readonly Waiting[]): Promise<void> => {
    const durability = works.every((work) => work.durability === 'deferred') ? 'deferred' : 'acknowledged';
    await database.transact(async (transaction) => {
      for (const work of works) await work.run(transaction);
    }, durability);
    for (const work of works) work.succeed();
  };

  const serve = async (works: readonly Waiting[]): Promise<void> => {
    try {
      await transact(works);
    } catch (error) {
      // Committed or rolled back as a whole: a single work fails alone, several are retried one by one.
      const isOver = works.length === 1 || error instanceof UnacknowledgedChangeError;
      for (const work of works) {
        if (isOver) work.fail(translated(error));
        else await serve([work]);
      }
    }
  };

  const drain = async (): Promise<void> => {
    while (queue.length > 0) await serve(queue.splice(0, maxShared));
    busy = false;
  };

  let reads: Reading[] = [];
  const startReads = async (): Promise<void> => {
    const started = reads;
    reads = [];
    try {
      await database.startReads((db) => {
        for (const { start } of started) start(db);
      });
    } catch (error) {
      for (const { fail } of started) fail(error);
    }
  };

  return {
    read: async <Result>(query: (db: Kysely<Schema>) => Promise<Result>) => {
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      const start = (db: Kysely<Schema>) => {
        // A query that throws synchronously must not fail the rest of the batch.
        try {
          resolve(query(db));
        } catch (error) {
          reject(error);
        }
      };
      reads.push({ start, fail: reject });
      // Further reads of this turn of the event loop join the batch.
      if (reads.length === 1) setImmediate(() => void startReads());
      try {
        return await promise;
      } catch (error) {
        throw translated(error);
      }
    },
    change: <Result>(work: (db: Kysely<Schema>) => Promise<Result>, durability: Durability = 'acknowledged') => {
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      let settle = () => {};
      queue.push({
        durability,
        run: async (db) => {
          const result = await work(db);
          settle = () => resolve(result);
        },
        succeed: () => settle(),
        fail: reject,
      });
      if (!busy) {
        busy = true;
        // Further changes of this turn of the event loop join the batch.
        setImmediate(() => void drain());
      }
      return promise;
    },
  };
}
