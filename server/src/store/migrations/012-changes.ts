import { type Kysely, sql } from 'kysely';

/**
 * The feed that snapshots follow: what each change touched, in the transaction of the change. Before it they asked for domains that were
 * changed after the counter that they knew, and read in the audit log what had changed in them. Without that column a version from before
 * can change no domain any more: it would write no rows.
 */
export async function addChanges(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('changes')
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('changes_key', ['seq', 'domain', 'kind', 'key'])
    .execute();
  // Servers that load the store now follow its next change.
  await sql`insert into changes select counter, '', 'head', audit_head from meta where id = 1`.execute(db);
  await db.schema.dropIndex('domains_by_change').execute();
  await db.schema.alterTable('domains').dropColumn('changed_at').execute();
}
