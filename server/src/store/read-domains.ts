import { type DomainName, parseDomainName, parseGroupName, parseRoleName } from '@signet/policy-engine/names';
import type { Kysely, Selectable } from 'kysely';
import { z } from 'zod';
import { rowOf, valuesOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import {
  type DomainAttributes,
  type DomainRecord,
  type GroupFields,
  type ListKey,
  type ListKind,
  type ListOf,
  type QuotaKind,
  quotaKinds,
  type RoleFields,
} from '../model/records.ts';
import type { PackedDomain } from '../model/snapshot-source.ts';
import type { CloudAccountsTable, DomainsTable, Schema } from './database-schema.ts';
import { readAllMembers } from './read-members.ts';
import { readPackedMembers } from './read-packed-members.ts';
import { readPolicies } from './read-policies.ts';
import { readServices, servicesOf } from './read-services.ts';
import { byDomain, groupBy, optional } from './row-values.ts';

/** Reads the domains of these names that exist, each whole. Call it inside a transaction: it makes several queries. */
export async function readDomains(db: Kysely<Schema>, names: readonly DomainName[]): Promise<DomainRecord[]> {
  const members = await readAllMembers(db, names);
  const listed = <List extends RoleFields | GroupFields>(kind: ListKind, domain: DomainName, lists: readonly List[]) =>
    lists.map((list) => ({ ...list, members: members.get(`${domain}:${kind}.${list.name}`) ?? [] }));
  return (await readWithoutMembers(db, names)).map((domain) => ({
    ...domain,
    roles: listed('role', domain.name, domain.roles),
    groups: listed('group', domain.name, domain.groups),
  }));
}

/** The same with their members packed. */
export async function readPackedDomains(db: Kysely<Schema>, names: readonly DomainName[]): Promise<PackedDomain[]> {
  const members = await readPackedMembers(db, names);
  return (await readWithoutMembers(db, names)).map((domain) => ({
    ...domain,
    members: members.get(domain.name) ?? [],
  }));
}

async function readWithoutMembers(
  db: Kysely<Schema>,
  names: readonly DomainName[],
): Promise<Omit<PackedDomain, 'members'>[]> {
  const [roles, groups] = [await readRoles(db, names), await readGroups(db, names)];
  const [policies, services] = [await readPolicies(db, names), await readServices(db, names)];
  return (await readAllAttributes(db, names)).map((attributes) => ({
    ...attributes,
    roles: roles.get(attributes.name) ?? [],
    groups: groups.get(attributes.name) ?? [],
    policies: policies.get(attributes.name) ?? [],
    ...servicesOf(services.get(attributes.name)),
  }));
}

/** Reads what a domain is without what it consists of. */
export async function readAttributes(db: Kysely<Schema>, name: DomainName): Promise<DomainAttributes | undefined> {
  const [attributes] = await readAllAttributes(db, [name]);
  return attributes;
}

async function readAllAttributes(db: Kysely<Schema>, names: readonly DomainName[]): Promise<DomainAttributes[]> {
  const domains = db.selectFrom('domains').selectAll().where('name', 'in', names).where('deleted', '=', 0);
  const accountRows = await db.selectFrom('cloud_accounts').selectAll().where('domain', 'in', names).execute();
  const accounts = groupBy(accountRows, ({ domain }) => domain);
  const rows = await domains.orderBy('name').execute();
  return rows.map((row) => attributesOf(row, accounts.get(row.name) ?? []));
}

/** The roles of these domains, without their members. */
export async function readRoles(
  db: Kysely<Schema>,
  domains: readonly DomainName[],
): Promise<ReadonlyMap<string, readonly RoleFields[]>> {
  const rows = db.selectFrom('roles').selectAll().where('domain', 'in', domains).orderBy('domain').orderBy('name');
  return byDomain(await rows.execute(), roleOf);
}

async function readGroups(
  db: Kysely<Schema>,
  domains: readonly DomainName[],
): Promise<ReadonlyMap<string, readonly GroupFields[]>> {
  const rows = db.selectFrom('groups').selectAll().where('domain', 'in', domains).orderBy('domain').orderBy('name');
  return byDomain(await rows.execute(), groupOf);
}

/** A role or group without its members. */
export async function readList<Kind extends ListKind>(
  db: Kysely<Schema>,
  { kind, domain, name }: ListKey<Kind>,
): Promise<ListOf<Kind> | undefined> {
  if (kind === 'role') {
    const roles = db.selectFrom('roles').selectAll().where('domain', '=', domain).where('name', '=', name);
    const row = await roles.executeTakeFirst();
    return row && (roleOf(row) as ListOf<Kind>);
  }
  const groups = db.selectFrom('groups').selectAll().where('domain', '=', domain).where('name', '=', name);
  const row = await groups.executeTakeFirst();
  return row && (groupOf(row) as ListOf<Kind>);
}

export async function readListNames<Kind extends ListKind>(
  db: Kysely<Schema>,
  domain: DomainName,
  kind: Kind,
): Promise<ListOf<Kind>['name'][]> {
  const lists = db.selectFrom(tableOf(kind)).select('name').where('domain', '=', domain).orderBy('name');
  // Parsed when they were written.
  return (await lists.execute()).map(({ name }) => name as ListOf<Kind>['name']);
}

export function tableOf(kind: ListKind): 'roles' | 'groups' {
  return kind === 'role' ? 'roles' : 'groups';
}

function roleOf(row: Selectable<Schema['roles']>): RoleFields {
  return { name: parseRoleName(row.name), ...valuesOf(recordFields.role, row) };
}

function groupOf(row: Selectable<Schema['groups']>): GroupFields {
  return { name: parseGroupName(row.name), ...valuesOf(recordFields.group, row) };
}

const tables = { policies: 'policies', assertions: 'assertions', services: 'services', keys: 'service_keys' } as const;

/** How many of these a domain has. */
export async function readCounts<Kind extends QuotaKind>(
  db: Kysely<Schema>,
  domain: DomainName,
  kinds: readonly Kind[],
): Promise<Readonly<Record<Kind, number>>> {
  const counts = {} as Record<Kind, number>;
  for (const kind of kinds) counts[kind] = await readCount(db, domain, kind);
  return counts;
}

async function readCount(db: Kysely<Schema>, domain: DomainName, kind: QuotaKind): Promise<number> {
  if (kind === 'members') return (await sumOfMembers(db, domain, 'roles')) + (await sumOfMembers(db, domain, 'groups'));
  const table = kind === 'roles' || kind === 'groups' ? kind : tables[kind];
  const rows = db.selectFrom(table).where('domain', '=', domain);
  const { count } = await rows.select((select) => select.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  return Number(count);
}

async function sumOfMembers(db: Kysely<Schema>, domain: DomainName, table: 'roles' | 'groups'): Promise<number> {
  const sum = db.selectFrom(table).select((select) => select.fn.sum<number | null>('member_count').as('members'));
  return Number((await sum.where('domain', '=', domain).executeTakeFirst())?.members ?? 0);
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
