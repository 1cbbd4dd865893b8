import { yieldToOthers } from '@signet/policy-engine/internal/slices';
import type { DomainName } from '@signet/policy-engine/names';
import { type Kysely, type Selectable, type SqlBool, sql } from 'kysely';
import { type Columns, defaultsOf, valuesOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type { ListKey, MemberEntry, MemberRecord } from '../model/records.ts';
import type { MembersTable, Schema } from './database-schema.ts';
import { chunks } from './row-values.ts';

/** Members by the full name of their role or group, each list sorted by name. */
type ListedMembers = ReadonlyMap<string, readonly MemberRecord[]>;

type MemberRow = Selectable<MembersTable>;

/** Page size that is read in a few milliseconds; requests are answered between two pages. */
export const rowsAPage = 4000;
const valuesAStatement = 500;

/** Every member of these domains. */
export async function readAllMembers(db: Kysely<Schema>, domains: readonly string[]): Promise<ListedMembers> {
  const lists: MutableLists = new Map();
  for (const batch of await batchesOf(db, domains, rowsAPage)) {
    const [only] = batch;
    if (batch.length === 1 && only !== undefined) await readPages(db, only, lists);
    else collect(lists, await inOrder(db).where('domain', 'in', batch).execute());
  }
  return lists;
}

/** Entries of these names in the roles and groups of a domain, sorted by kind, list and name. */
export async function readEntries(
  db: Kysely<Schema>,
  domain: DomainName,
  names: readonly string[],
): Promise<MemberEntry[]> {
  const found: MemberRow[] = [];
  const members = db.selectFrom('members').selectAll().where('domain', '=', domain);
  for (const part of chunks([...new Set(names)], valuesAStatement)) {
    found.push(...(await members.where('member', 'in', part).execute()));
  }
  // Sorted here: asked for an order, a planner may walk through all members of the domain to find a few that have it already.
  const keyed = found.map((row) => [`${row.kind} ${row.list} ${row.member}`, entryOf(row)] as const);
  return keyed.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}

function entryOf(row: MemberRow): MemberEntry {
  // Parsed when they were written.
  const [domain, name] = [row.domain as DomainName, row.list as ListKey['name']];
  return { list: { kind: row.kind, domain, name }, member: memberRecord(row) };
}

/** Page of at most `limit` members of a role or group, of those whose names come after `after`, sorted. */
export async function readMemberPage(
  db: Kysely<Schema>,
  { kind, domain, name }: ListKey,
  after: string,
  limit: number,
): Promise<MemberRecord[]> {
  const list = inOrder(db).where('domain', '=', domain).where('kind', '=', kind).where('list', '=', name);
  return (await list.where('member', '>', after).limit(limit).execute()).map(memberRecord);
}

/** Domains with members, in batches by their number; a larger domain is a batch of its own. */
export async function batchesOf(
  db: Kysely<Schema>,
  domains: readonly string[],
  membersABatch: number,
): Promise<string[][]> {
  const counts = new Map<string, number>();
  for (const table of ['roles', 'groups'] as const) {
    const sums = await db
      .selectFrom(table)
      .select((select) => ['domain', select.fn.sum<number>('member_count').as('members')])
      .where('domain', 'in', domains)
      .where('member_count', '>', 0)
      .groupBy('domain')
      .execute();
    for (const { domain, members } of sums) counts.set(domain, (counts.get(domain) ?? 0) + members);
  }
  const found: string[][] = [];
  let room = 0;
  for (const [domain, members] of counts) {
    if (members > room) {
      found.push([]);
      room = membersABatch;
    }
    found.at(-1)?.push(domain);
    room -= members;
  }
  return found;
}

async function readPages(db: Kysely<Schema>, domain: string, lists: MutableLists): Promise<void> {
  const page = inOrder(db).where('domain', '=', domain).limit(rowsAPage);
  for (let last: MemberRow | undefined; ; ) {
    const rest = last && sql<SqlBool>`(kind, list, member) > (${last.kind}, ${last.list}, ${last.member})`;
    const rows: MemberRow[] = await (rest === undefined ? page : page.where(rest)).execute();
    collect(lists, rows);
    last = rows.at(-1);
    if (rows.length < rowsAPage) return;
    await yieldToOthers();
  }
}

type MutableLists = Map<string, MemberRecord[]>;

/** Rows of one list follow each other, so that a million of them cost few look-ups. */
function collect(lists: MutableLists, rows: readonly MemberRow[]): void {
  let previous: MemberRow | undefined;
  let members: MemberRecord[] = [];
  for (const row of rows) {
    if (row.list !== previous?.list || row.kind !== previous.kind || row.domain !== previous.domain) {
      members = listIn(lists, listOf(row));
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

function listOf({ domain, kind, list }: Pick<MemberRow, 'domain' | 'kind' | 'list'>): string {
  return `${domain}:${kind}.${list}`;
}

/** Row of a plain member. A new field does not compile until it is here; there may be a million rows to compare. */
const plainRow = { expires: null, disabled: 0, review: null } satisfies Columns<typeof recordFields.member>;
const plainMember = { name: '', ...defaultsOf(recordFields.member) };

/** Condition: a row is one of a plain member. */
export const isPlain = sql<SqlBool>`${sql.join(
  Object.entries(plainRow).map(
    ([column, cell]) => sql`${sql.ref(column)} ${sql.raw(cell === null ? 'is null' : `= ${cell}`)}`,
  ),
  sql` and `,
)}`;

function memberRecord(row: MemberRow): MemberRecord {
  const { expires, disabled, review } = plainRow;
  const isPlain = row.expires === expires && row.disabled === disabled && row.review === review;
  return isPlain ? { ...plainMember, name: row.member } : { name: row.member, ...valuesOf(recordFields.member, row) };
}

/** Query in the order of the table's key. */
function inOrder(db: Kysely<Schema>) {
  const key = ['domain', 'kind', 'list', 'member'] as const;
  return key.reduce((query, column) => query.orderBy(column), db.selectFrom('members').selectAll());
}
