import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { GroupName, RoleName } from '@signet/policy-engine/names';
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { MemberRecord } from './records.ts';
import { chunks, optional } from './row-values.ts';
import type { MembersTable, Schema } from './schema.ts';

/** What of a domain is read: the members of whole roles and groups, and those of some names wherever they are. */
export interface MemberScope {
  readonly roles: readonly RoleName[];
  readonly groups: readonly GroupName[];
  readonly names: readonly string[];
  /** Whether policies and services stay out of it as well. */
  readonly withoutRules?: boolean;
}

/** A role or a group. */
export interface ListKey {
  readonly kind: 'role' | 'group';
  readonly domain: string;
  readonly name: string;
}

/** Members by `nameOfList`, each list sorted by name. */
export interface DomainMembers {
  readonly roles: ReadonlyMap<string, readonly MemberRecord[]>;
  readonly groups: ReadonlyMap<string, readonly MemberRecord[]>;
}

export function nameOfList(domain: string, list: string): string {
  return `${domain}:${list}`;
}

/** One row of either table of members; `list` is the role or group. */
interface MemberRow extends MembersTable {
  readonly list: string;
}

type MemberTable = 'role_members' | 'group_members';

/** A page is read in a few milliseconds; requests go on being answered between two of them. */
export const rowsAPage = 4000;
const valuesAStatement = 500;

/** Every member of these domains. */
export async function readAllMembers(db: Kysely<Schema>, domains: readonly string[]): Promise<DomainMembers> {
  return {
    roles: await readTable(db, 'role_members', domains),
    groups: await readTable(db, 'group_members', domains),
  };
}

/** The members of the scope alone. */
export async function readScopedMembers(
  db: Kysely<Schema>,
  domain: string,
  { roles, groups, names }: MemberScope,
): Promise<DomainMembers> {
  return {
    roles: await readScope(db, 'role', domain, roles, names),
    groups: await readScope(db, 'group', domain, groups, names),
  };
}

/** At most `limit` members of a role or group, of those whose names come after `after`, sorted. */
export async function readMemberPage(
  db: Kysely<Schema>,
  { kind, domain, name }: ListKey,
  after: string,
  limit: number,
): Promise<MemberRecord[]> {
  const table = `${kind}_members` as const;
  const inList = sql<SqlBool>`domain = ${domain} and ${listColumn(table)} = ${name} and member > ${after}`;
  return (await selectMembers(db, table, inList, limit)).map(memberRecord);
}

async function readTable(db: Kysely<Schema>, table: MemberTable, domains: readonly string[]) {
  const lists: MutableLists = new Map();
  for (const batch of await batches(db, table, domains)) {
    const [only] = batch;
    if (batch.length === 1 && only !== undefined) await readPages(db, table, only, lists);
    else collect(lists, await selectMembers(db, table, sql<SqlBool>`domain in (${sql.join(batch)})`));
  }
  return lists;
}

/** The domains that have members, a page in each batch; who has more than a page is alone. */
async function batches(db: Kysely<Schema>, table: MemberTable, domains: readonly string[]): Promise<string[][]> {
  const counts = await db
    .selectFrom(table === 'role_members' ? 'roles' : 'groups')
    .select((select) => ['domain', select.fn.sum<number>('member_count').as('members')])
    .where('domain', 'in', domains)
    .where('member_count', '>', 0)
    .groupBy('domain')
    .execute();
  const found: string[][] = [];
  let room = 0;
  for (const { domain, members } of counts) {
    if (members > room) {
      found.push([]);
      room = rowsAPage;
    }
    found.at(-1)?.push(domain);
    room -= members;
  }
  return found;
}

async function readPages(db: Kysely<Schema>, table: MemberTable, domain: string, lists: MutableLists): Promise<void> {
  const column = listColumn(table);
  let rest = sql<SqlBool>`domain = ${domain}`;
  for (;;) {
    const rows = await selectMembers(db, table, rest, rowsAPage);
    collect(lists, rows);
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAPage) return;
    rest = sql<SqlBool>`domain = ${domain} and (${column}, member) > (${last.list}, ${last.member})`;
    await yieldToOthers();
  }
}

async function readScope(
  db: Kysely<Schema>,
  kind: ListKey['kind'],
  domain: string,
  whole: readonly string[],
  names: readonly string[],
) {
  const lists: MutableLists = new Map();
  for (const name of whole) {
    for (let after = ''; ; ) {
      const page = await readMemberPage(db, { kind, domain, name }, after, rowsAPage);
      listIn(lists, nameOfList(domain, name)).push(...page);
      if (page.length < rowsAPage) break;
      after = page.at(-1)?.name ?? '';
      await yieldToOthers();
    }
  }
  const known = new Set(whole);
  for (const part of chunks([...new Set(names)].sort(), valuesAStatement)) {
    const rows = await selectNamed(db, `${kind}_members`, domain, part);
    collect(
      lists,
      rows.filter(({ list }) => !known.has(list)),
    );
  }
  return lists;
}

type MutableLists = Map<string, MemberRecord[]>;

/** Rows of one list follow each other, so that a million of them cost few look-ups. */
function collect(lists: MutableLists, rows: readonly MemberRow[]): void {
  let previous: MemberRow | undefined;
  let members: MemberRecord[] = [];
  for (const row of rows) {
    if (row.list !== previous?.list || row.domain !== previous.domain) {
      members = listIn(lists, nameOfList(row.domain, row.list));
    }
    members.push(memberRecord(row));
    previous = row;
  }
}

function listIn(lists: MutableLists, key: string): MemberRecord[] {
  const known = lists.get(key);
  if (known !== undefined) return known;
  const fresh: MemberRecord[] = [];
  lists.set(key, fresh);
  return fresh;
}

function memberRecord(row: Omit<MemberRow, 'list' | 'domain'>): MemberRecord {
  if (row.expires === null && row.review === null) return { name: row.member, disabled: row.disabled === 1 };
  return {
    name: row.member,
    ...optional('expires', row.expires),
    disabled: row.disabled === 1,
    ...optional('review', row.review),
  };
}

function listColumn(table: MemberTable): RawBuilder<unknown> {
  return table === 'role_members' ? sql.ref('role') : sql.ref('group_name');
}

/** Sorted here: asked for an order, a planner may walk through all members of the domain to find a few that have it already. */
async function selectNamed(db: Kysely<Schema>, table: MemberTable, domain: string, names: readonly string[]) {
  const column = listColumn(table);
  const { rows } = await sql<MemberRow>`select domain, ${column} as list, member, expires, disabled, review
    from ${sql.table(table)} where domain = ${domain} and member in (${sql.join(names)})`.execute(db);
  return rows.sort((a, b) => (a.member < b.member ? -1 : 1));
}

/** In the order of the table's key. */
async function selectMembers(
  db: Kysely<Schema>,
  table: MemberTable,
  where: RawBuilder<SqlBool>,
  limit?: number,
): Promise<readonly MemberRow[]> {
  const column = listColumn(table);
  const end = limit === undefined ? sql`` : sql`limit ${limit}`;
  const { rows } = await sql<MemberRow>`select domain, ${column} as list, member, expires, disabled, review
    from ${sql.table(table)} where ${where} order by domain, ${column}, member ${end}`.execute(db);
  return rows;
}
