import { setImmediate as yieldToOthers } from 'node:timers/promises';
import {
  parseDomainName,
  parseGroupName,
  parseKeyId,
  parsePolicyName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import type { WireConditions } from '@signet/policy-engine/wire';
import { type Kysely, type Selectable, type SqlBool, sql } from 'kysely';
import { z } from 'zod';
import { rowOf, valuesOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import {
  type DomainAttributes,
  type DomainRecord,
  quotaKinds,
  type ServiceRecord,
  type StoredAssertion,
  type StoredPolicy,
} from '../model/records.ts';
import type { DomainExcerpt, DomainScope, ListKey } from '../model/store.ts';
import type { AssertionsTable, CloudAccountsTable, DomainsTable, Schema } from './database-schema.ts';
import {
  countMembers,
  fullNameOf,
  type ListedMembers,
  readAllMembers,
  readScopedMembers,
  rowsAPage,
} from './read-members.ts';
import { chunks, groupBy, optional } from './row-values.ts';

const valuesAStatement = 500;

/** Reads the domains of these names that exist, each whole. Call it inside a transaction: it makes several queries. */
export async function readDomains(db: Kysely<Schema>, names: readonly string[]): Promise<DomainRecord[]> {
  if (names.length === 0) return [];
  return readRecords(db, names, await readAllMembers(db, names), everything);
}

/** Reads what the domain is without what it consists of. */
export async function readAttributes(db: Kysely<Schema>, name: string): Promise<DomainAttributes | undefined> {
  const [row] = await selectDomains(db, [name]).execute();
  if (row === undefined) return undefined;
  return attributesOf(row, await selectAccounts(db, [name]).execute());
}

function selectDomains(db: Kysely<Schema>, names: readonly string[]) {
  return db.selectFrom('domains').selectAll().where('name', 'in', names).where('deleted', '=', 0).orderBy('name');
}

function selectAccounts(db: Kysely<Schema>, names: readonly string[]) {
  return db.selectFrom('cloud_accounts').selectAll().where('domain', 'in', names);
}

/** Reads as much of a domain as the scope says. Call it inside a transaction. */
export async function readExcerpt(
  db: Kysely<Schema>,
  name: string,
  scope: DomainScope,
): Promise<DomainExcerpt | undefined> {
  const scoped = await readScopedMembers(db, name, scope);
  const [content] = await readRecords(db, [name], scoped, partsOf(name, scope, scoped));
  if (content === undefined) return undefined;
  const shown = [...content.roles, ...content.groups].reduce((sum, list) => sum + list.members.length, 0);
  return { content, otherMembers: (await countMembers(db, name)) - shown };
}

/** What is read of domains beside their attributes and members. */
interface Parts {
  /** Roles and groups of these full names; absent: all of them. */
  readonly lists?: ReadonlySet<string>;
  readonly policies: boolean;
  readonly services: boolean;
}

const everything: Parts = { policies: true, services: true };

function partsOf(domain: string, scope: DomainScope, members: ListedMembers): Parts {
  const { roles, groups, lists = 'all', policies = true, services = true } = scope;
  if (lists === 'all') return { policies, services };
  const wanted: readonly ListKey[] = [
    ...lists,
    ...roles.map((name) => ({ kind: 'role', domain, name }) as const),
    ...groups.map((name) => ({ kind: 'group', domain, name }) as const),
  ];
  return { lists: new Set([...members.keys(), ...wanted.map(fullNameOf)]), policies, services };
}

const none: ReadonlyMap<string, never[]> = new Map();

async function readRecords(
  db: Kysely<Schema>,
  names: readonly string[],
  members: ListedMembers,
  parts: Parts,
): Promise<DomainRecord[]> {
  const rows = await selectDomains(db, names).execute();
  const accounts = groupBy(await selectAccounts(db, names).execute(), ({ domain }) => domain);
  const membersOf = (kind: 'role' | 'group', { domain, name }: { readonly domain: string; readonly name: string }) =>
    members.get(fullNameOf({ domain, kind, name })) ?? [];
  const roles = collect(await readLists(db, 'roles', names, parts), (row) => {
    return { name: parseRoleName(row.name), ...valuesOf(recordFields.role, row), members: membersOf('role', row) };
  });
  const groups = collect(await readLists(db, 'groups', names, parts), (row) => {
    return { name: parseGroupName(row.name), ...valuesOf(recordFields.group, row), members: membersOf('group', row) };
  });
  const policies = parts.policies ? await readPolicies(db, names) : none;
  const services = parts.services ? await readServices(db, names) : none;
  return rows.map((row) => ({
    ...attributesOf(row, accounts.get(row.name) ?? []),
    roles: roles.get(row.name) ?? [],
    groups: groups.get(row.name) ?? [],
    policies: policies.get(row.name) ?? [],
    services: services.get(row.name)?.map(({ service }) => service) ?? [],
    ...servicesFrom(services.get(row.name) ?? []),
  }));
}

async function readLists<Table extends 'roles' | 'groups'>(
  db: Kysely<Schema>,
  table: Table,
  domains: readonly string[],
  { lists }: Parts,
): Promise<Selectable<Schema[Table]>[]> {
  const rows = db.selectFrom<'roles' | 'groups'>(table).selectAll().where('domain', 'in', domains).orderBy('name');
  if (lists === undefined) return (await rows.execute()) as Selectable<Schema[Table]>[];
  const found: unknown[] = [];
  for (const part of chunks([...lists].flatMap((list) => shortName(table, list)).sort(), valuesAStatement)) {
    found.push(...(await rows.where('name', 'in', part).execute()));
  }
  return found as Selectable<Schema[Table]>[];
}

/** The name of a role or group without its domain; nothing for one of the other kind. */
function shortName(table: 'roles' | 'groups', list: string): string[] {
  const kind = table === 'roles' ? ':role.' : ':group.';
  const at = list.indexOf(kind);
  return at < 0 ? [] : [list.slice(at + kind.length)];
}

const quotasSchema = z.partialRecord(z.enum(quotaKinds), z.int());

function attributesOf(
  row: Selectable<DomainsTable>,
  accountRows: readonly Selectable<CloudAccountsTable>[],
): DomainAttributes {
  const accounts = Object.fromEntries(accountRows.map(({ provider, account }) => [provider, account]));
  return {
    name: parseDomainName(row.name),
    ...valuesOf(recordFields.domain, row),
    policyVersion: row.policy_version,
    policyModified: row.policy_modified,
    ...optional('dnsForm', row.dns_form),
    ...(row.credentials_from !== 0 && { credentialsFrom: row.credentials_from }),
    limits: valuesOf(recordFields.limits, row),
    ...(row.quotas !== null && { quotas: quotasSchema.parse(JSON.parse(row.quotas)) }),
    accounts: valuesOf(recordFields.accounts, { ...rowOf(recordFields.accounts, {}), ...accounts }),
  };
}

async function readPolicies(
  db: Kysely<Schema>,
  names: readonly string[],
): Promise<ReadonlyMap<string, StoredPolicy[]>> {
  const rows = await db
    .selectFrom('policies')
    .selectAll()
    .where('domain', 'in', names)
    .orderBy('name')
    .orderBy('version')
    .execute();
  const assertions = await readAssertions(db, names);
  return collect(rows, (row) => ({
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

/** By policy. Of a single domain in pages: it may have tens of thousands, and requests go on being answered between two of them. */
async function readAssertions(
  db: Kysely<Schema>,
  names: readonly string[],
): Promise<ReadonlyMap<string, readonly StoredAssertion[]>> {
  const [only] = names;
  const key = ['domain', 'policy', 'version', 'position'] as const;
  const inOrder = key.reduce((query, column) => query.orderBy(column), db.selectFrom('assertions').selectAll());
  const found = new Map<string, StoredAssertion[]>();
  if (names.length > 1 || only === undefined) {
    addAssertions(found, await inOrder.where('domain', 'in', names).execute());
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

interface ReadService {
  readonly service: ServiceRecord;
  /** 0 where no other service had the name before. */
  readonly credentialsFrom: number;
}

function servicesFrom(services: readonly ReadService[]): Pick<DomainRecord, 'servicesFrom'> {
  const again = services.filter(({ credentialsFrom }) => credentialsFrom > 0);
  if (again.length === 0) return {};
  return { servicesFrom: new Map(again.map(({ service, credentialsFrom }) => [service.name, credentialsFrom])) };
}

async function readServices(db: Kysely<Schema>, names: readonly string[]): Promise<ReadonlyMap<string, ReadService[]>> {
  const rows = await db.selectFrom('services').selectAll().where('domain', 'in', names).orderBy('name').execute();
  const keyRows = await db
    .selectFrom('service_keys')
    .selectAll()
    .where('domain', 'in', names)
    .orderBy('key_id')
    .execute();
  const hostRows = await db
    .selectFrom('service_hosts')
    .selectAll()
    .where('domain', 'in', names)
    .orderBy('position')
    .execute();
  const keys = groupBy(keyRows, (row) => `${row.domain}:${row.service}`);
  const hosts = groupBy(hostRows, (row) => `${row.domain}:${row.service}`);
  return collect(rows, (row) => ({
    credentialsFrom: row.credentials_from,
    service: {
      name: parseServiceName(row.name),
      ...valuesOf(recordFields.service, row),
      hosts: (hosts.get(`${row.domain}:${row.name}`) ?? []).map((host) => host.host),
      publicKeys: (keys.get(`${row.domain}:${row.name}`) ?? []).map((key) => ({
        id: parseKeyId(key.key_id),
        pem: key.pem,
        ...(key.delegated === 1 && { delegated: true }),
      })),
    },
  }));
}

function collect<Row extends { domain: string }, Item>(
  rows: readonly Row[],
  toItem: (row: Row) => Item,
): ReadonlyMap<string, Item[]> {
  const byDomain = new Map<string, Item[]>();
  for (const [domain, group] of groupBy(rows, (row) => row.domain)) byDomain.set(domain, group.map(toItem));
  return byDomain;
}
