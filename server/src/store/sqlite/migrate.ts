import { Migrator } from 'kysely/migration';
import { migrations } from '../migrations/index.ts';
import type { SqliteQueries } from './sqlite-queries.ts';

/**
 * Runs the missing steps, up to and with `last` (default: all), in one transaction that takes the write lock first: one process does it, the others
 * find it done.
 */
export async function migrate(queries: SqliteQueries, last?: string): Promise<void> {
  await queries.transact(async (db) => {
    const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
    const { error } = await (last === undefined ? migrator.migrateToLatest() : migrator.migrateTo(last));
    if (error !== undefined) throw error;
  });
}
