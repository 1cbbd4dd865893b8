import type { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import type { Schema } from '../database-schema.ts';
import { migrations } from '../migrations/index.ts';

/** Runs the missing steps in one transaction that takes the write lock first, so one process does it and the others find it done. */
export async function migrate(db: Kysely<Schema>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}
