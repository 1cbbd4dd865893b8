import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Schema } from './database-schema.ts';

/** Inserts the only row of `meta`, if absent. */
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
