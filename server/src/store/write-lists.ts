import type { Kysely } from 'kysely';
import {
  changesList,
  type DomainChange,
  type ListDiff,
  listName,
  type MemberListChange,
  written,
} from '../model/domain-change.ts';
import { rowOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type { GroupFields, ListKey, MemberRecord, RoleFields } from '../model/records.ts';
import type { Schema } from './database-schema.ts';
import { tableOf } from './read-domains.ts';
import { chunks } from './row-values.ts';

const rowsAStatement = 500;

/** Writes the roles and groups of a domain that differ, and their members. */
export async function writeLists(db: Kysely<Schema>, { name: domain, roles, groups }: DomainChange): Promise<void> {
  for (const change of roles) await writeList(db, { domain, kind: 'role', name: listName(change) }, change);
  for (const change of groups) await writeList(db, { domain, kind: 'group', name: listName(change) }, change);
}

async function writeList(db: Kysely<Schema>, list: ListKey, change: MemberListChange): Promise<void> {
  const { after, members } = change;
  if (after !== undefined && changesList(change)) await writeFields(db, list, after);
  await writeMembers(db, list, members);
  if (after === undefined) await removeList(db, list);
}

async function writeFields(
  db: Kysely<Schema>,
  { domain, kind, name }: ListKey,
  after: RoleFields | GroupFields,
): Promise<void> {
  const key = { domain, name, member_count: 0 };
  if (kind === 'role') {
    const row = rowOf(recordFields.role, after);
    const roles = db.insertInto('roles').values({ ...key, ...row });
    await roles.onConflict((conflict) => conflict.columns(['domain', 'name']).doUpdateSet(row)).execute();
  } else {
    const row = rowOf(recordFields.group, after);
    const groups = db.insertInto('groups').values({ ...key, ...row });
    await groups.onConflict((conflict) => conflict.columns(['domain', 'name']).doUpdateSet(row)).execute();
  }
}

/** INVARIANT: who removes a role or group has read all of its members, so that the audit log says who lost it. */
async function removeList(db: Kysely<Schema>, list: ListKey): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom(tableOf(list.kind))
    .where('domain', '=', list.domain)
    .where('name', '=', list.name)
    .where('member_count', '=', 0)
    .executeTakeFirstOrThrow();
  if (numDeletedRows !== 1n) throw new Error(`not all members of \`${list.domain}:${list.name}\` were read`);
}

/** Replaces the differing members. The count of the role or group follows. */
async function writeMembers(db: Kysely<Schema>, list: ListKey, members: ListDiff<MemberRecord>): Promise<void> {
  const { removed, added, changed } = members;
  await removeMembers(db, list, [...removed, ...changed.map(({ before }) => before)]);
  const { domain, kind, name } = list;
  for (const part of chunks(written(members), rowsAStatement)) {
    const rows = part.map((member) => {
      return { domain, kind, list: name, member: member.name, ...rowOf(recordFields.member, member) };
    });
    await db.insertInto('members').values(rows).execute();
  }
  const more = added.length - removed.length;
  if (more === 0) return;
  await db
    .updateTable(tableOf(list.kind))
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
