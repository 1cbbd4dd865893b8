import type { Kysely } from 'kysely';
import { DomainError } from '../errors.ts';
import type { Schema } from './schema.ts';
import type { StoreDatabase } from './store-database.ts';

/** Reads and changes of one database, with its errors in the words of `errors.ts`. */
export interface GuardedDatabase {
  read<Result>(query: (db: Kysely<Schema>) => Promise<Result>): Promise<Result>;
  /** One transaction. */
  change<Result>(work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result>;
}

export function guardDatabase(database: StoreDatabase): GuardedDatabase {
  const guard = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw error instanceof DomainError ? error : database.translate(error);
    }
  };
  return {
    read: (query) => guard(async () => query(await database.reader())),
    change: (work) =>
      guard(async () => {
        const db = await database.writer();
        return db.transaction().execute(work);
      }),
  };
}
