import {
  type DomainName,
  type KeyId,
  type PolicyName,
  type PrincipalName,
  parseDomainName,
  type ServiceName,
  splitPrincipal,
} from '@signet/policy-engine/names';
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { OpenQuery, OpenRequests, RequestQuery, StoredRequest } from '../model/change-requests.ts';
import type {
  AssertionCount,
  DomainAttributes,
  DomainRecord,
  ListKey,
  ListKind,
  ListOf,
  MemberEntry,
  MemberRecord,
  QuotaKind,
  ServiceRecord,
  StoredPolicy,
} from '../model/records.ts';
import type { SnapshotSource } from '../model/snapshot-source.ts';
import type {
  DelegatedKey,
  EndedName,
  FormHolder,
  MemberSearch,
  Membership,
  ProtectedRole,
  StoreReader,
  StoreState,
  SwitchedOff,
} from '../model/store.ts';
import { askersIn } from './certificate-rows.ts';
import { isUnchanged } from './change-rows.ts';
import type { Schema } from './database-schema.ts';
import { readEndedNames, readFormHolder } from './name-rows.ts';
import { readChanges, readContents } from './read-changes.ts';
import { readAttributes, readCounts, readDomains, readList, readListNames } from './read-domains.ts';
import { readEntries, readMemberPage } from './read-members.ts';
import { readPolicies, readPolicyBytes } from './read-policies.ts';
import { readProtectedAmong, readProtectedRoles } from './read-protected.ts';
import { readServices, servicesOf } from './read-services.ts';
import { isRevoked } from './record-certificate.ts';
import { countOpen, readRequest, readRequests } from './request-rows.ts';
import { chunks } from './row-values.ts';

const valuesAStatement = 500;
/** Each may be in thousands of roles and groups. */
const listedAStatement = 10;
const membersAPage = 1000;

/** The store within one transaction of the query layer, and so as of one instant. */
export class KyselyStoreReader implements StoreReader {
  readonly #db: Kysely<Schema>;
  readonly #state: StoreState;
  #rows = 0;

  constructor(db: Kysely<Schema>, { epoch, counter, head }: StoreState) {
    this.#db = db;
    this.#state = { epoch, counter, head };
  }

  state(): StoreState {
    return this.#state;
  }

  rowsRead(): number {
    return this.#rows;
  }

  source(): SnapshotSource {
    return {
      state: () => Promise.resolve(this.#state),
      changesSince: (known, knows) => readChanges(this.#db, known, knows),
      everything: async (work) => work(await readContents(this.#db)),
    };
  }

  async domain(name: DomainName): Promise<DomainRecord | undefined> {
    const [domain] = await readDomains(this.#db, [name]);
    return domain;
  }

  attributes(name: DomainName): Promise<DomainAttributes | undefined> {
    return readAttributes(this.#db, name);
  }

  assertionCounts(name: DomainName): Promise<readonly AssertionCount[]> {
    const counts = this.#db.selectFrom('assertions').where('domain', '=', name).groupBy(['policy', 'version']);
    return counts.select((select) => ['policy', 'version', select.fn.countAll<number>().as('assertions')]).execute();
  }

  isUnchanged(name: DomainName, since: StoreState): Promise<boolean> {
    return isUnchanged(this.#db, name, since, this.#state);
  }

  async listNames<Kind extends ListKind>(domain: DomainName, kind: Kind): Promise<readonly ListOf<Kind>['name'][]> {
    return this.#counted(await readListNames(this.#db, domain, kind));
  }

  list<Kind extends ListKind>(list: ListKey<Kind>): Promise<ListOf<Kind> | undefined> {
    return readList(this.#db, list);
  }

  async entries(domain: DomainName, names: readonly string[]): Promise<readonly MemberEntry[]> {
    return this.#counted(await readEntries(this.#db, domain, names));
  }

  async policies(domain: DomainName, name?: PolicyName): Promise<readonly StoredPolicy[]> {
    const policies = (await readPolicies(this.#db, [domain], name)).get(domain) ?? [];
    for (const { assertions } of policies) this.#counted(assertions);
    return this.#counted(policies);
  }

  async services(domain: DomainName, name?: ServiceName): Promise<readonly ServiceRecord[]> {
    return this.#counted(servicesOf((await readServices(this.#db, [domain], name)).get(domain)).services);
  }

  counts<Kind extends QuotaKind>(domain: DomainName, kinds: readonly Kind[]): Promise<Readonly<Record<Kind, number>>> {
    return readCounts(this.#db, domain, kinds);
  }

  policyBytes(domain: DomainName, aroundEach: number): Promise<number> {
    return readPolicyBytes(this.#db, domain, aroundEach);
  }

  async memberPage(list: ListKey, after: string, limit: number): Promise<readonly MemberRecord[]> {
    return this.#counted(await readMemberPage(this.#db, list, after, limit));
  }

  async serviceNames(names: readonly DomainName[]): Promise<ReadonlyMap<DomainName, ReadonlySet<string>>> {
    const found = new Map<DomainName, Set<string>>();
    for (const part of chunks(names, valuesAStatement)) {
      const domains = this.#db.selectFrom('domains').select('name').where('name', 'in', part);
      for (const { name } of await domains.where('deleted', '=', 0).execute()) {
        found.set(parseDomainName(name), new Set());
      }
      const services = this.#db.selectFrom('services').select(['domain', 'name']).where('domain', 'in', part);
      for (const row of await services.execute()) found.get(parseDomainName(row.domain))?.add(row.name);
    }
    return found;
  }

  async switchedOff(): Promise<SwitchedOff> {
    const closed = this.#db.selectFrom('domains').select('name').where('deleted', '=', 0).where('enabled', '=', 0);
    const services = this.#db.selectFrom('services').select(['domain', 'name']).where('enabled', '=', 0);
    return {
      domains: (await closed.execute()).map(({ name }) => parseDomainName(name)),
      services: (await services.execute()).map((row) => ({
        domain: parseDomainName(row.domain),
        // Parsed when it was written.
        service: row.name as ServiceName,
      })),
    };
  }

  async delegatedKeys({ names, prefixes }: MemberSearch): Promise<readonly DelegatedKey[]> {
    const services = names.flatMap((name) => splitPrincipal(name as PrincipalName) ?? []);
    const found: DelegatedKey[] = [];
    for (const condition of keyConditions(services, prefixes)) {
      const keys = this.#db.selectFrom('service_keys').select(['domain', 'service', 'key_id']);
      for (const row of await keys.where('delegated', '=', 1).where(condition).execute()) {
        // Parsed when they were written.
        const [service, keyId] = [row.service as ServiceName, row.key_id as KeyId];
        found.push({ domain: parseDomainName(row.domain), service, keyId });
      }
    }
    return found;
  }

  async domainsTrusting(names: readonly DomainName[]): Promise<readonly DomainName[]> {
    const found = new Set<string>();
    for (const part of chunks(names, valuesAStatement)) {
      const roles = this.#db.selectFrom('roles').select('domain').distinct().where('trust', 'in', part);
      for (const { domain } of await roles.execute()) found.add(domain);
    }
    return [...found].sort().map((name) => parseDomainName(name));
  }

  async domainsWithMember(search: MemberSearch): Promise<readonly DomainName[]> {
    const found = new Set<string>();
    const members = this.#db.selectFrom('members').select('domain').where('kind', '=', 'role').distinct();
    for (const condition of conditionsOf(search)) {
      for (const { domain } of await members.where(condition).execute()) found.add(domain);
    }
    return [...found].sort().map((name) => parseDomainName(name));
  }

  async groupsWithMember(search: MemberSearch): Promise<readonly string[]> {
    const found = new Set<string>();
    const members = this.#db.selectFrom('members').select(['domain', 'list']).where('kind', '=', 'group').distinct();
    for (const condition of conditionsOf(search)) {
      for (const row of await members.where(condition).execute()) found.add(`${row.domain}:group.${row.list}`);
    }
    return [...found].sort();
  }

  async memberships(names: readonly string[]): Promise<readonly Membership[]> {
    const found: Membership[] = [];
    for (const part of chunks(names, listedAStatement)) {
      const members = this.#db.selectFrom('members').select(['domain', 'kind', 'list', 'member']);
      for (const { domain, ...row } of await members.where('member', 'in', part).execute()) {
        found.push({ ...row, domain: parseDomainName(domain) });
      }
    }
    const keyed = found.map((one) => [`${one.domain}:${one.kind}.${one.list} ${one.member}`, one] as const);
    return keyed.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  }

  async membersOf(domain: DomainName): Promise<readonly string[]> {
    const found = new Set<string>();
    const prefix = `${domain}.`;
    const members = this.#db.selectFrom('members').select('member').distinct().where('member', '<', successor(prefix));
    for (let after = prefix; ; ) {
      const rows = await members.where('member', '>', after).orderBy('member').limit(membersAPage).execute();
      for (const { member } of rows) if (!/[.:]/.test(member.slice(prefix.length))) found.add(member);
      if (rows.length < membersAPage) return [...found].sort();
      after = rows.at(-1)?.member ?? '';
    }
  }

  formHolder(name: DomainName): Promise<FormHolder | undefined> {
    return readFormHolder(this.#db, name);
  }

  endedNames(names: readonly string[]): Promise<readonly EndedName[]> {
    return readEndedNames(this.#db, names);
  }

  #counted<Row>(rows: readonly Row[]): readonly Row[] {
    this.#rows += rows.length;
    return rows;
  }

  isRevoked(serial: string): Promise<boolean> {
    return isRevoked(this.#db, serial);
  }

  protectedRoles(domain: DomainName): Promise<readonly ProtectedRole[]> {
    return readProtectedRoles(this.#db, domain);
  }

  protectedAmong(names: readonly DomainName[]): Promise<ReadonlyMap<DomainName, number>> {
    return readProtectedAmong(this.#db, names);
  }

  request(id: number): Promise<StoredRequest | undefined> {
    return readRequest(this.#db, id);
  }

  requests(query: RequestQuery): Promise<readonly StoredRequest[]> {
    return readRequests(this.#db, query);
  }

  async certificateAskedBy(serial: string): Promise<readonly string[]> {
    const row = this.#db.selectFrom('certificates').select('asked_by').where('serial', '=', serial);
    return askersIn((await row.executeTakeFirst())?.asked_by);
  }

  openRequests(query: OpenQuery): Promise<OpenRequests> {
    return countOpen(this.#db, query);
  }
}

/** Conditions on the column `member`, each of which its index answers. */
function conditionsOf({ names, prefixes }: MemberSearch): RawBuilder<SqlBool>[] {
  return [
    ...[...chunks(names, valuesAStatement)].map((part) => sql<SqlBool>`member in (${sql.join(part)})`),
    ...prefixes.map((prefix) => sql<SqlBool>`member >= ${prefix} and member < ${successor(prefix)}`),
  ];
}

/** Services by their domain and name, and by what these begin with; each is found by the index of delegated keys. */
function* keyConditions(
  services: readonly { readonly domain: string; readonly service: string }[],
  prefixes: readonly string[],
): Generator<RawBuilder<SqlBool>> {
  for (const part of chunks(services, valuesAStatement)) {
    const rows = part.map(({ domain, service }) => sql`(${domain}, ${service})`);
    yield sql<SqlBool>`(domain, service) in (values ${sql.join(rows)})`;
  }
  for (const prefix of outermost(prefixes)) yield servicesBeginning(prefix);
}

/** Prefixes without those that begin with another one, which covers them. */
function outermost(prefixes: readonly string[]): string[] {
  const kept: string[] = [];
  for (const prefix of [...prefixes].sort()) {
    const last = kept.at(-1);
    if (last === undefined || !prefix.startsWith(last)) kept.push(prefix);
  }
  return kept;
}

/** Condition on columns, so that an index answers it: with thousands of prefixes no caller waits while all keys are read for each. */
function servicesBeginning(prefix: string): RawBuilder<SqlBool> {
  if (prefix === '') return sql<SqlBool>`1 = 1`;
  const below = sql<SqlBool>`domain >= ${prefix} and domain < ${successor(prefix)}`;
  // The name of a service has no dot.
  const dot = prefix.lastIndexOf('.');
  if (dot < 0) return below;
  const [domain, service] = [prefix.slice(0, dot), prefix.slice(dot + 1)];
  const own = sql<SqlBool>`domain = ${domain}`;
  if (service === '') return sql<SqlBool>`(${own} or ${below})`;
  return sql<SqlBool>`(${own} and service >= ${service} and service < ${successor(service)} or ${below})`;
}

/** The first text that is greater than all that begin with `prefix`. */
function successor(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}
