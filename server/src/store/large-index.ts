import { type Kysely, PostgresAdapter, sql } from 'kysely';

/** An index of a table that may have millions of rows. */
export interface LargeIndex {
  readonly name: string;
  /** The table, its columns, and which of its rows. */
  readonly on: string;
}

/**
 * Makes the index in the transaction of a step. Not in PostgreSQL: nobody could write to the table meanwhile. There it is made after the
 * steps, beside everybody's work (`postgres/large-indices.ts`).
 */
export async function createIndex(db: Kysely<unknown>, { name, on }: LargeIndex): Promise<void> {
  if (db.getExecutor().adapter instanceof PostgresAdapter) return;
  await sql`create index ${sql.ref(name)} on ${sql.raw(on)}`.execute(db);
}
