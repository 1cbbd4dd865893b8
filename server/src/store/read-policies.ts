import { yieldToOthers } from '@signet/policy-engine/internal/slices';
import { parsePolicyName } from '@signet/policy-engine/names';
import type { WireConditions } from '@signet/policy-engine/wire';
import { type Kysely, type Selectable, type SqlBool, sql } from 'kysely';
import { valuesOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type { StoredAssertion, StoredPolicy } from '../model/records.ts';
import type { AssertionsTable, Schema } from './database-schema.ts';
import { rowsAPage } from './read-members.ts';
import { byDomain } from './row-values.ts';

const assertionKey = ['domain', 'policy', 'version', 'position'] as const;
const textColumns = ['role', 'action', 'resource', 'conditions'] as const;

/** Size in bytes of the assertions in force of a domain as JSON strings, plus `aroundEach` for each of them; counted in pages. */
export async function readPolicyBytes(db: Kysely<Schema>, domain: string, aroundEach: number): Promise<number> {
  const bytes = textColumns.map((name) => {
    const text = sql`coalesce(${sql.ref(`page.${name}`)}, '')`;
    // JSON writes a quotation mark and a backslash as two characters.
    return sql`octet_length(${text}) + 2 * length(${text}) - length(replace(${text}, '"', '')) - length(replace(${text}, '\\', ''))`;
  });
  const whole = assertionKey
    .reduce((query, column) => query.orderBy(column), db.selectFrom('assertions').selectAll())
    .where('domain', '=', domain)
    .limit(rowsAPage);
  let sum = 0;
  for (let offset = 0; ; offset += rowsAPage) {
    const row = await db
      .selectFrom(whole.offset(offset).as('page'))
      .leftJoin('policies', (join) =>
        join
          .onRef('policies.domain', '=', 'page.domain')
          .onRef('policies.name', '=', 'page.policy')
          .onRef('policies.version', '=', 'page.version'),
      )
      .select(sql<number>`count(*)`.as('rows'))
      .select(
        sql<number | null>`sum(case active when 1 then ${sql.join(bytes, sql` + `)} + ${sql.lit(aroundEach)} end)`.as(
          'bytes',
        ),
      )
      .executeTakeFirst();
    sum += Number(row?.bytes ?? 0);
    if (Number(row?.rows ?? 0) < rowsAPage) return sum;
    await yieldToOthers();
  }
}

/** The policies of these domains with all of their versions; or of one name alone. */
export async function readPolicies(
  db: Kysely<Schema>,
  domains: readonly string[],
  name?: string,
): Promise<ReadonlyMap<string, StoredPolicy[]>> {
  const all = db.selectFrom('policies').selectAll().where('domain', 'in', domains);
  const wanted = name === undefined ? all : all.where('name', '=', name);
  const rows = await wanted.orderBy('name').orderBy('version').execute();
  const assertions = await readAssertions(db, domains, name);
  return byDomain(rows, (row) => ({
    name: parsePolicyName(row.name),
    version: row.version,
    active: row.active === 1,
    modified: row.modified,
    ...valuesOf(recordFields.policy, row),
    assertions: assertions.get(policyKey(row.domain, row.name, row.version)) ?? [],
  }));
}

function policyKey(domain: string, policy: string, version: string): string {
  return JSON.stringify([domain, policy, version]);
}

/** Assertions by policy. Those of a single domain in pages: it may have tens of thousands, and requests are answered between two of them. */
async function readAssertions(
  db: Kysely<Schema>,
  domains: readonly string[],
  name?: string,
): Promise<ReadonlyMap<string, readonly StoredAssertion[]>> {
  const [only] = domains;
  const all = assertionKey.reduce((query, column) => query.orderBy(column), db.selectFrom('assertions').selectAll());
  const inOrder = name === undefined ? all : all.where('policy', '=', name);
  const found = new Map<string, StoredAssertion[]>();
  if (domains.length > 1 || only === undefined) {
    addAssertions(found, await inOrder.where('domain', 'in', domains).execute());
    return found;
  }
  const page = inOrder.where('domain', '=', only).limit(rowsAPage);
  for (let last: Selectable<AssertionsTable> | undefined; ; ) {
    const rest =
      last && sql<SqlBool>`(policy, version, position) > (${last.policy}, ${last.version}, ${last.position})`;
    const rows: Selectable<AssertionsTable>[] = await (rest === undefined ? page : page.where(rest)).execute();
    addAssertions(found, rows);
    if (rows.length < rowsAPage) return found;
    last = rows.at(-1);
    await yieldToOthers();
  }
}

/** Rows of one policy follow each other. */
function addAssertions(found: Map<string, StoredAssertion[]>, rows: readonly Selectable<AssertionsTable>[]): void {
  let previous: Selectable<AssertionsTable> | undefined;
  let list: StoredAssertion[] = [];
  for (const row of rows) {
    if (row.policy !== previous?.policy || row.version !== previous.version || row.domain !== previous.domain) {
      const policy = policyKey(row.domain, row.policy, row.version);
      list = found.get(policy) ?? [];
      found.set(policy, list);
    }
    list.push(assertion(row));
    previous = row;
  }
}

function assertion(row: Selectable<AssertionsTable>): StoredAssertion {
  return {
    id: row.id,
    effect: row.effect === 'ALLOW' ? 'ALLOW' : 'DENY',
    role: row.role,
    action: row.action,
    resource: row.resource,
    caseSensitive: row.case_sensitive === 1,
    ...(row.conditions !== null && { conditions: JSON.parse(row.conditions) as WireConditions }),
  };
}
