import { type Kysely, sql } from 'kysely';
import { markTable } from '../copy/copy-mark.ts';
import type { Schema } from '../database-schema.ts';

/** True if the database holds the mark of a copy that is not complete. */
export async function isMarked(db: Kysely<Schema>): Promise<boolean> {
  const { rows } = await sql<{ there: boolean }>`select to_regclass(${markTable}) is not null as there`.execute(db);
  return rows[0]?.there === true;
}
