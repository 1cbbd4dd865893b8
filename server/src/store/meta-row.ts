import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Schema } from './database-schema.ts';

/** The one row of `meta`, where there is none. */
export async function insertMeta(db: Kysely<Schema>, now: number): Promise<void> {
  await db
    .insertInto('meta')
    .values({
      id: 1,
      epoch: 1,
      counter: 0,
      next_id: 1,
      created_at: now,
      audit_head: '',
      paging_secret: randomBytes(32).toString('base64url'),
      sequence: 0,
      written_at: 0,
      written_by: '',
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}
