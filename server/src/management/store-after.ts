import { yieldToOthers } from '@signet/policy-engine/internal/slices';
import type { DomainName, KeyId, ServiceName } from '@signet/policy-engine/names';
import { type DomainChange, listName, type MemberListChange, written } from '../model/domain-change.ts';
import type {
  ListKey,
  ListKind,
  ListOf,
  MemberEntry,
  MemberRecord,
  PolicyRecord,
  RoleFields,
} from '../model/records.ts';
import type { DelegatedKey, MemberSearch, Membership, ProtectedRole, StoreReader } from '../model/store.ts';
import { policyKey } from '../store/diff-domains.ts';

const membersAPage = 1000;

/** A role or group that a change touches, and who is not in it as before. */
interface TouchedList {
  readonly change: MemberListChange;
  readonly gone: ReadonlySet<string>;
}

/** The store as some changes leave it, as far as the rules of changes ask. Without changes: as it is. */
export class StoreAfter {
  readonly #reader: StoreReader;
  readonly #changes: ReadonlyMap<DomainName, DomainChange>;
  readonly #fresh = new Map<DomainChange, ReadonlyMap<string, readonly MemberEntry[]>>();
  readonly #touched = new Map<DomainChange, ReadonlyMap<string, TouchedList>>();
  readonly #keysLeft = new Map<DomainChange, ReadonlyMap<ServiceName, ReadonlySet<KeyId>>>();

  constructor(reader: StoreReader, changes: readonly DomainChange[]) {
    this.#reader = reader;
    this.#changes = new Map(changes.map((change) => [change.name, change]));
  }

  created(): DomainName[] {
    return [...this.#changes.values()].flatMap(({ before, name }) => (before === undefined ? [name] : []));
  }

  async exists(domain: DomainName): Promise<boolean> {
    return this.#changes.has(domain) || (await this.#reader.attributes(domain)) !== undefined;
  }

  /** Approvals by other persons that every change of the domain needs. */
  async approvals(domain: DomainName): Promise<number> {
    const change = this.#changes.get(domain);
    const attributes = change === undefined ? await this.#reader.attributes(domain) : change.after;
    return attributes?.approvals ?? 0;
  }

  /** The roles of a domain whose change needs approvals. */
  async protectedRoles(domain: DomainName): Promise<readonly ProtectedRole[]> {
    const stored = this.#isNew(domain) ? [] : await this.#reader.protectedRoles(domain);
    const changes = this.#lists(domain, 'role');
    const touched = new Set<string>(changes.map(listName));
    const changed = changes.flatMap(({ after }) =>
      after?.approvals === undefined ? [] : [{ name: after.name, approvals: after.approvals }],
    );
    return [...stored.filter(({ name }) => !touched.has(name)), ...changed];
  }

  /** Sorted, but for those that are new. */
  async listNames<Kind extends ListKind>(domain: DomainName, kind: Kind): Promise<readonly ListOf<Kind>['name'][]> {
    const stored = this.#isNew(domain) ? [] : await this.#reader.listNames(domain, kind);
    const changes: readonly MemberListChange<ListOf<Kind>>[] = this.#lists(domain, kind);
    const gone = new Set(changes.filter(({ after }) => after === undefined).map(listName));
    const added = changes.filter(({ before }) => before === undefined).map(listName);
    return [...stored.filter((name) => !gone.has(name)), ...added];
  }

  /** A role without its members. */
  async role(key: ListKey<'role'>): Promise<RoleFields | undefined> {
    const found = this.#lists(key.domain, 'role').find((one) => listName(one) === key.name);
    if (found !== undefined) return found.after;
    return this.#isNew(key.domain) ? undefined : await this.#reader.list(key);
  }

  /** The members of a role or group, in pages. */
  async *members(list: ListKey): AsyncGenerator<readonly MemberRecord[]> {
    const { change, gone } = this.#listOf(list) ?? {};
    if (change?.before !== undefined || change === undefined) {
      for (let after = ''; ; ) {
        const page = await this.#reader.memberPage(list, after, membersAPage);
        yield gone === undefined ? page : page.filter((member) => !gone.has(member.name));
        if (page.length < membersAPage) break;
        after = page.at(-1)?.name ?? '';
        // There may be hundreds of pages: other requests have their turn between two of them.
        await yieldToOthers();
      }
    }
    if (change !== undefined) yield written(change.members);
  }

  /** Entries of these names in the roles and groups of a domain. */
  async entries(domain: DomainName, names: readonly string[]): Promise<readonly MemberEntry[]> {
    const change = this.#changes.get(domain);
    const stored = this.#isNew(domain) ? [] : await this.#reader.entries(domain, names);
    if (change === undefined) return stored;
    const left = stored.filter(({ list, member }) => this.#listOf(list)?.gone.has(member.name) !== true);
    const fresh = this.#freshEntries(change);
    return [...left, ...[...new Set(names)].flatMap((name) => fresh.get(name) ?? [])];
  }

  async policies(domain: DomainName): Promise<readonly PolicyRecord[]> {
    const stored = this.#isNew(domain) ? [] : await this.#reader.policies(domain);
    const policies = this.#changes.get(domain)?.policies;
    if (policies === undefined) return stored;
    const gone = new Set([...policies.removed, ...policies.changed.map(({ before }) => before)].map(policyKey));
    return [...stored.filter((policy) => !gone.has(policyKey(policy))), ...written(policies)];
  }

  /** The domains with a role that has one of these members. */
  async domainsWithMember(names: readonly string[]): Promise<readonly DomainName[]> {
    const stored = await this.#reader.domainsWithMember({ names, prefixes: [] });
    const found = new Set(stored.filter((domain) => !this.#changes.has(domain)));
    for (const domain of this.#changes.keys()) {
      if ((await this.entries(domain, names)).some(({ list }) => list.kind === 'role')) found.add(domain);
    }
    return [...found].sort();
  }

  /** Every role and group that has one of these members. */
  async memberships(names: readonly string[]): Promise<readonly Membership[]> {
    const stored = await this.#reader.memberships(names);
    const found = stored.filter(({ domain }) => !this.#changes.has(domain));
    for (const domain of this.#changes.keys()) {
      for (const { list, member } of await this.entries(domain, names)) {
        found.push({ domain, kind: list.kind, list: list.name, member: member.name });
      }
    }
    return found;
  }

  /** The keys of delegates that services of these names have. */
  async delegatedKeys(search: MemberSearch): Promise<readonly DelegatedKey[]> {
    return (await this.#reader.delegatedKeys(search)).filter(({ domain, service, keyId }) => {
      return this.#delegatedAfter(domain)?.get(service)?.has(keyId) !== false;
    });
  }

  /** Remaining delegates' keys of the services that a change touches; computed once. */
  #delegatedAfter(domain: DomainName): ReadonlyMap<ServiceName, ReadonlySet<KeyId>> | undefined {
    const change = this.#changes.get(domain);
    if (change === undefined) return undefined;
    const known = this.#keysLeft.get(change);
    if (known !== undefined) return known;
    const left = new Map<ServiceName, ReadonlySet<KeyId>>();
    for (const { name } of change.services.removed) left.set(name, new Set());
    for (const { name, publicKeys } of written(change.services)) {
      left.set(name, new Set(publicKeys.filter(({ delegated }) => delegated === true).map(({ id }) => id)));
    }
    this.#keysLeft.set(change, left);
    return left;
  }

  #isNew(domain: DomainName): boolean {
    const change = this.#changes.get(domain);
    return change !== undefined && change.before === undefined;
  }

  /** The entries that a change makes or changes, by name; sorted out once, as it may have many. */
  #freshEntries(change: DomainChange): ReadonlyMap<string, readonly MemberEntry[]> {
    const known = this.#fresh.get(change);
    if (known !== undefined) return known;
    const entriesOf = (kind: ListKind) =>
      this.#lists(change.name, kind).flatMap((list) =>
        written(list.members).map((member): MemberEntry => {
          return { list: { kind, domain: change.name, name: listName(list) }, member };
        }),
      );
    const fresh = Map.groupBy([...entriesOf('role'), ...entriesOf('group')], ({ member }) => member.name);
    this.#fresh.set(change, fresh);
    return fresh;
  }

  /** A role or group that is changed. Sorted out once: who is removed from all of them may have been in ten thousand. */
  #listOf({ domain, kind, name }: ListKey): TouchedList | undefined {
    const change = this.#changes.get(domain);
    if (change === undefined) return undefined;
    const known = this.#touched.get(change) ?? this.#sortedOut(change);
    this.#touched.set(change, known);
    return known.get(`${kind}.${name}`);
  }

  #sortedOut({ name }: DomainChange): ReadonlyMap<string, TouchedList> {
    const listsOf = (kind: ListKind) =>
      this.#lists(name, kind).map((change) => {
        const { removed, changed } = change.members;
        const gone = new Set([...removed, ...changed.map(({ before }) => before)].map((member) => member.name));
        return [`${kind}.${listName(change)}`, { change, gone }] as const;
      });
    return new Map([...listsOf('role'), ...listsOf('group')]);
  }

  #lists<Kind extends ListKind>(domain: DomainName, kind: Kind): readonly MemberListChange<ListOf<Kind>>[] {
    const change = this.#changes.get(domain);
    if (change === undefined) return [];
    return (kind === 'role' ? change.roles : change.groups) as readonly MemberListChange<ListOf<Kind>>[];
  }
}
