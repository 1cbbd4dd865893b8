import { type Kysely, sql } from 'kysely';
import type { Schema } from '../database-schema.ts';
import type { LargeIndex } from '../large-index.ts';

/**
 * Makes those of the indices that are missing, while others read and write. One that was cut off is made again; one that another server is
 * making is left to it. `db` has no timeout for statements, and is in no transaction.
 */
export async function createLargeIndices(db: Kysely<Schema>, indices: readonly LargeIndex[]): Promise<void> {
  for (const { name, on } of indices) {
    const { rows } = await sql<{ valid: boolean; building: boolean }>`
      select i.indisvalid as valid,
        exists (select 1 from pg_stat_progress_create_index p where p.index_relid = i.indexrelid) as building
      from pg_index i where i.indexrelid = to_regclass(${name})`.execute(db);
    const [found] = rows;
    if (found?.valid === true || found?.building === true) continue;
    if (found !== undefined) await sql`drop index concurrently if exists ${sql.ref(name)}`.execute(db);
    await sql`create index concurrently if not exists ${sql.ref(name)} on ${sql.raw(on)}`.execute(db);
  }
}
