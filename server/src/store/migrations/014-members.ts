import { type Kysely, sql } from 'kysely';

/**
 * Merges members of roles and groups into one table, so that one query finds all of them. An earlier version does not
 * find its tables any more.
 */
export async function mergeMembers(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('members')
    .addColumn('domain', 'text', (column) => column.notNull().references('domains.name'))
    .addColumn('kind', 'text', (column) => column.notNull().check(sql`kind in ('role', 'group')`))
    .addColumn('list', 'text', (column) => column.notNull())
    .addColumn('member', 'text', (column) => column.notNull())
    .addColumn('expires', 'bigint')
    .addColumn('disabled', 'integer', (column) => column.notNull())
    .addColumn('review', 'bigint')
    .addPrimaryKeyConstraint('members_key', ['domain', 'kind', 'list', 'member'])
    .execute();
  await sql`insert into members select domain, 'group', group_name, member, expires, disabled, review
    from group_members order by domain, group_name, member`.execute(db);
  await sql`insert into members select domain, 'role', role, member, expires, disabled, review
    from role_members order by domain, role, member`.execute(db);
  await db.schema.dropTable('group_members').execute();
  await db.schema.dropTable('role_members').execute();
  await db.schema.createIndex('members_by_member').on('members').columns(['member', 'domain']).execute();
  await sql`create index members_by_review on members (review) where review is not null`.execute(db);
}
