import { type Kysely, sql } from 'kysely';

/** How many members a role or group has stands beside it, and where a name is a member of a domain is found without its other domains. */
export async function addMemberCounts(db: Kysely<unknown>): Promise<void> {
  for (const table of ['roles', 'groups'] as const) {
    await db.schema
      .alterTable(table)
      .addColumn('member_count', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  }
  await sql`update roles set member_count =
    (select count(*) from role_members where role_members.domain = roles.domain and role = roles.name)`.execute(db);
  await sql`update groups set member_count =
    (select count(*) from group_members where group_members.domain = groups.domain and group_name = groups.name)`.execute(
    db,
  );
  for (const table of ['role_members', 'group_members'] as const) {
    await db.schema.dropIndex(`${table}_by_member`).execute();
    await db.schema.createIndex(`${table}_by_member`).on(table).columns(['member', 'domain']).execute();
  }
}
