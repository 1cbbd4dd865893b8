import type { Kysely } from 'kysely';
import { rowOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type { GroupRecord, MemberRecord, RoleRecord } from '../model/records.ts';
import type { ListKey } from '../model/store.ts';
import type { Schema } from './database-schema.ts';
import type { DomainDiff, ListDiff } from './diff-domains.ts';
import { chunks } from './row-values.ts';

const rowsAStatement = 500;

/** Writes the roles and groups of a domain that differ, and their members. */
export async function writeLists(db: Kysely<Schema>, domain: string, diff: DomainDiff): Promise<void> {
  for (const role of diff.removedRoles) await removeList(db, { domain, kind: 'role', name: role.name }, role.members);
  for (const group of diff.removedGroups) {
    await removeList(db, { domain, kind: 'group', name: group.name }, group.members);
  }
  for (const { after, fields, members } of diff.roles) {
    if (fields) await writeRole(db, domain, after);
    await writeMembers(db, { domain, kind: 'role', name: after.name }, members);
  }
  for (const { after, fields, members } of diff.groups) {
    if (fields) await writeGroup(db, domain, after);
    await writeMembers(db, { domain, kind: 'group', name: after.name }, members);
  }
}

async function writeRole(db: Kysely<Schema>, domain: string, role: RoleRecord): Promise<void> {
  const row = rowOf(recordFields.role, role);
  await db
    .insertInto('roles')
    .values({ domain, name: role.name, member_count: 0, ...row })
    .onConflict((conflict) => conflict.columns(['domain', 'name']).doUpdateSet(row))
    .execute();
}

async function writeGroup(db: Kysely<Schema>, domain: string, group: GroupRecord): Promise<void> {
  const row = rowOf(recordFields.group, group);
  await db
    .insertInto('groups')
    .values({ domain, name: group.name, member_count: 0, ...row })
    .onConflict((conflict) => conflict.columns(['domain', 'name']).doUpdateSet(row))
    .execute();
}

/** INVARIANT: who removes a role or group has read all of its members, so that the audit log says who lost it. */
async function removeList(db: Kysely<Schema>, list: ListKey, members: readonly MemberRecord[]): Promise<void> {
  await removeMembers(db, list, members);
  const { numDeletedRows } = await db
    .deleteFrom(tableOf(list))
    .where('domain', '=', list.domain)
    .where('name', '=', list.name)
    .where('member_count', '=', members.length)
    .executeTakeFirstOrThrow();
  if (numDeletedRows !== 1n) throw new Error(`not all members of \`${list.domain}:${list.name}\` were read`);
}

/** What differs is taken out and put in again. The count of the role or group follows. */
async function writeMembers(
  db: Kysely<Schema>,
  list: ListKey,
  { removed, added, changed }: ListDiff<MemberRecord>,
): Promise<void> {
  await removeMembers(db, list, [...removed, ...changed.map(({ before }) => before)]);
  const { domain, kind, name } = list;
  for (const part of chunks([...added, ...changed.map(({ after }) => after)], rowsAStatement)) {
    const rows = part.map((member) => {
      return { domain, kind, list: name, member: member.name, ...rowOf(recordFields.member, member) };
    });
    await db.insertInto('members').values(rows).execute();
  }
  const more = added.length - removed.length;
  if (more === 0) return;
  await db
    .updateTable(tableOf(list))
    .set((count) => ({ member_count: count('member_count', '+', more) }))
    .where('domain', '=', domain)
    .where('name', '=', name)
    .execute();
}

async function removeMembers(
  db: Kysely<Schema>,
  { domain, kind, name }: ListKey,
  members: readonly MemberRecord[],
): Promise<void> {
  for (const part of chunks(members, rowsAStatement)) {
    await db
      .deleteFrom('members')
      .where('domain', '=', domain)
      .where('kind', '=', kind)
      .where('list', '=', name)
      .where(
        'member',
        'in',
        part.map((member) => member.name),
      )
      .execute();
  }
}

function tableOf({ kind }: ListKey): 'roles' | 'groups' {
  return kind === 'role' ? 'roles' : 'groups';
}
