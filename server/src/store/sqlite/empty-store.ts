import Database from 'better-sqlite3';
import { migrations } from '../migrations/index.ts';
import { migrate } from './migrate.ts';
import { SqliteQueries } from './sqlite-queries.ts';

/** Store in memory with the schema of this program, for comparisons. Closed by the caller. */
export async function emptyStore(onStep: (database: Database.Database) => void = () => {}): Promise<Database.Database> {
  const database = new Database(':memory:');
  const queries = new SqliteQueries(database, 'changes');
  for (const name of Object.keys(migrations)) {
    await migrate(queries, name);
    onStep(database);
  }
  return database;
}
