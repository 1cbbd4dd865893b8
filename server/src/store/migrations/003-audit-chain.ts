import type { Kysely } from 'kysely';
import { auditHash } from '../audit-chain.ts';
import type { Schema } from '../database-schema.ts';

/** The audit log becomes a chain, from the first record on; domains may ask for reasons. */
export async function chainAudit(db: Kysely<Schema>): Promise<void> {
  await db.schema
    .alterTable('domains')
    .addColumn('require_reason', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .alterTable('audit')
    .addColumn('hash', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await db.schema
    .alterTable('meta')
    .addColumn('audit_head', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  let head = '';
  for (const row of await db.selectFrom('audit').selectAll().orderBy('id').execute()) {
    head = auditHash(head, row);
    await db.updateTable('audit').set({ hash: head }).where('id', '=', row.id).execute();
  }
  await db.updateTable('meta').set({ audit_head: head }).execute();
}
