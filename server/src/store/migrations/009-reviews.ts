import { type Kysely, sql } from 'kysely';

/** Members that are to be reviewed are found by the date; most have none. */
export async function indexReviews(db: Kysely<unknown>): Promise<void> {
  for (const table of ['role_members', 'group_members'] as const) {
    await db.schema
      .createIndex(`${table}_by_review`)
      .on(table)
      .column('review')
      .where(sql.ref('review'), 'is not', null)
      .execute();
  }
}
