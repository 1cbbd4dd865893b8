import { type Kysely, sql } from 'kysely';

/**
 * Approvals that changes need, and change requests. A version from before leaves columns and table alone, and does not ask for approvals: they are set
 * when all servers have been replaced.
 */
export async function addApprovals(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('domains').addColumn('approvals', 'integer').execute();
  await db.schema.alterTable('roles').addColumn('approvals', 'integer').execute();
  await db.schema.alterTable('roles').addColumn('request_seconds', 'bigint').execute();
  await db.schema.alterTable('certificates').addColumn('asked_by', 'text').execute();
  await sql`create index roles_protected on roles (domain) where approvals is not null`.execute(db);
  await db.schema
    .createTable('change_requests')
    .addColumn('id', 'bigint', (column) => column.primaryKey().notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('author', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('closed_at', 'bigint')
    .addColumn('reason', 'text')
    .addColumn('domains', 'text', (column) => column.notNull())
    .addColumn('needed', 'integer', (column) => column.notNull())
    .addColumn('certificate', 'text')
    .addColumn('effect', 'text')
    .addColumn('outcome', 'text')
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('approvals', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('change_requests_by_state').on('change_requests').columns(['state', 'id']).execute();
}
