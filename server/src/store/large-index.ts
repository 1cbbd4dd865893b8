import { type Kysely, PostgresAdapter, sql } from 'kysely';

/** An index of a table that may have millions of rows. */
export interface LargeIndex {
  readonly name: string;
  /** The table, its columns, and which of its rows. */
  readonly on: string;
}

/**
 * Creates the index in the transaction of a step. Not in PostgreSQL, where the table could not be written meanwhile: there it is created after
 * the steps, concurrently (`postgres/large-indices.ts`).
 */
export async function createIndex(db: Kysely<unknown>, { name, on }: LargeIndex): Promise<void> {
  if (db.getExecutor().adapter instanceof PostgresAdapter) return;
  await sql`create index ${sql.ref(name)} on ${sql.raw(on)}`.execute(db);
}
