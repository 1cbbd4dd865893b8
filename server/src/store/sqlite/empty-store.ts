import Database from 'better-sqlite3';
import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import type { Schema } from '../database-schema.ts';
import { migrations } from '../migrations/index.ts';
import { SignetSqliteDialect } from './dialect.ts';

/** A store in memory with the schema of this program, for whoever asks what that is. Closed by the caller. */
export async function emptyStore(onStep: (database: Database.Database) => void = () => {}): Promise<Database.Database> {
  const database = new Database(':memory:');
  const db = new Kysely<Schema>({ dialect: new SignetSqliteDialect(database, 'changes') });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  for (const name of Object.keys(migrations)) {
    const { error } = await migrator.migrateTo(name);
    if (error !== undefined) throw error;
    onStep(database);
  }
  return database;
}
