import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Schema } from '../database-schema.ts';

/** Secret that signs the cursors of lists: in the store, so that every server on it accepts the cursors of the others. */
export async function addPagingSecret(db: Kysely<Schema>): Promise<void> {
  await db.schema
    .alterTable('meta')
    .addColumn('paging_secret', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await db
    .updateTable('meta')
    .set({ paging_secret: randomBytes(32).toString('base64url') })
    .execute();
}
