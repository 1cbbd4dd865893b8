import { yieldToOthers } from '@signet/policy-engine/internal/slices';
import { type Kysely, PostgresAdapter, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import { memberColumns } from '../model/packed-members.ts';
import type { PackedMembers } from '../model/snapshot-source.ts';
import type { MembersTable, Schema } from './database-schema.ts';
import { batchesOf, isPlain } from './read-members.ts';

/** Page size of packed members, which take half the time of as many rows. */
const packedAPage = 8000;

/** Every member of these domains, by domain: the database makes few texts of a page, instead of a row of each member. */
export async function readPackedMembers(
  db: Kysely<Schema>,
  domains: readonly string[],
): Promise<ReadonlyMap<string, readonly PackedMembers[]>> {
  const found = new Map<string, PackedMembers[]>();
  const add = ({ domain, ...packed }: PackedRow) => {
    const parts = found.get(domain);
    if (parts === undefined) found.set(domain, [packed]);
    else parts.push(packed);
  };
  for (const batch of await batchesOf(db, domains, packedAPage)) {
    const [only] = batch;
    const isLarge = batch.length === 1 && only !== undefined;
    const rows = isLarge ? await packPages(db, only) : await pack(db, sql<SqlBool>`domain in (${sql.join(batch)})`);
    for (const row of rows) add(row);
  }
  return found;
}

type PackedRow = PackedMembers & Pick<MembersTable, 'domain'>;
type Place = Pick<Selectable<MembersTable>, 'kind' | 'list' | 'member'>;

async function packPages(db: Kysely<Schema>, domain: string): Promise<PackedRow[]> {
  const found: PackedRow[] = [];
  const inDomain = db.selectFrom('members').select(['kind', 'list', 'member']).where('domain', '=', domain);
  const inOrder = inDomain.orderBy('kind').orderBy('list').orderBy('member').limit(1);
  for (let after: Place | undefined; ; ) {
    const rest = after === undefined ? sql<SqlBool>`1 = 1` : isPlace(after, '>');
    const last: Place | undefined = await inOrder
      .where(rest)
      .offset(packedAPage - 1)
      .executeTakeFirst();
    const page = last === undefined ? rest : sql<SqlBool>`${rest} and ${isPlace(last, '<=')}`;
    found.push(...(await pack(db, sql<SqlBool>`domain = ${domain} and ${page}`)));
    if (last === undefined) return found;
    after = last;
    await yieldToOthers();
  }
}

function isPlace({ kind, list, member }: Place, compared: '>' | '<='): RawBuilder<SqlBool> {
  return sql`(kind, list, member) ${sql.raw(compared)} (${kind}, ${list}, ${member})`;
}

/** A text for each part of them, of roles and of groups. */
async function pack(db: Kysely<Schema>, which: RawBuilder<SqlBool>): Promise<readonly PackedRow[]> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const [listOf, arrayOf] = (isPostgres ? ['json_agg', 'json_build_array'] : ['json_group_array', 'json_array']).map(
    (name) => sql.raw(name),
  );
  const cells = sql.join(memberColumns.map((column) => sql.ref(column)));
  const text = (of: RawBuilder<unknown>, filter: RawBuilder<unknown>) =>
    sql`coalesce(cast(${listOf}(${of}) filter (where ${filter}) as text), '[]')`;
  const { rows } = await sql<PackedRow>`select domain, kind, count(*) as count,
    ${text(sql`member`, isPlain)} as names, ${text(sql`list`, isPlain)} as lists,
    ${text(sql`${arrayOf}(list, member, ${cells})`, sql`not (${isPlain})`)} as others
    from members where ${which} group by domain, kind`.execute(db);
  return rows;
}
