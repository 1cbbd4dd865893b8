import type { DomainContent, DomainRecord, ListKey, MemberEntry, QuotaKind } from '@signet/server/model/records';
import type { MemberSearch, Membership, StoreReader } from '@signet/server/model/store';
import { stored } from './domains.ts';

/** A store that is a list of domains; `answers` in place of its own. */
export function memoryReader(contents: readonly DomainContent[], answers: Partial<StoreReader> = {}): StoreReader {
  const domains = contents.map((content) => stored(content));
  const find = (name: string) => domains.find((domain) => domain.name === name);
  const listsOf = (domain: DomainRecord | undefined, kind: ListKey['kind']) =>
    (kind === 'role' ? domain?.roles : domain?.groups) ?? [];
  const all = () => domains.flatMap((domain) => entriesOf(domain));
  const fits = ({ names, prefixes }: MemberSearch, name: string) =>
    names.includes(name) || prefixes.some((prefix) => name.startsWith(prefix));
  const reader = {
    attributes: async (name: string) => {
      const domain = find(name);
      if (domain === undefined) return undefined;
      const { roles: _, groups: __, policies: ___, services: ____, ...attributes } = domain;
      return attributes;
    },
    domain: async (name: string) => find(name),
    listNames: async (domain: string, kind: ListKey['kind']) => listsOf(find(domain), kind).map(({ name }) => name),
    list: async ({ domain, kind, name }: ListKey) => {
      const found = listsOf(find(domain), kind).find((list) => list.name === name);
      if (found === undefined) return undefined;
      const { members: _, ...fields } = found;
      return fields;
    },
    memberPage: async ({ domain, kind, name }: ListKey, after: string, limit: number) => {
      const members = listsOf(find(domain), kind).find((list) => list.name === name)?.members ?? [];
      const sorted = [...members].sort((a, b) => (a.name < b.name ? -1 : 1));
      return sorted.filter((member) => member.name > after).slice(0, limit);
    },
    entries: async (domain: string, names: readonly string[]) =>
      entriesOf(find(domain)).filter(({ member }) => names.includes(member.name)),
    protectedRoles: async (domain: string) =>
      (find(domain)?.roles ?? []).flatMap(({ name, approvals = 0 }) => (approvals > 0 ? [{ name, approvals }] : [])),
    policies: async (domain: string, name?: string) =>
      (find(domain)?.policies ?? []).filter((policy) => name === undefined || policy.name === name),
    services: async (domain: string, name?: string) =>
      (find(domain)?.services ?? []).filter((service) => name === undefined || service.name === name),
    policyBytes: async () => 0,
    counts: async (domain: string, kinds: readonly QuotaKind[]) => {
      const counts = countsOf(find(domain));
      return Object.fromEntries(kinds.map((kind) => [kind, counts[kind]]));
    },
    domainsWithMember: async (search: MemberSearch) => {
      const found = all().filter(({ list, member }) => list.kind === 'role' && fits(search, member.name));
      return [...new Set(found.map(({ list }) => list.domain))];
    },
    groupsWithMember: async (search: MemberSearch) => {
      const found = all().filter(({ list, member }) => list.kind === 'group' && fits(search, member.name));
      return [...new Set(found.map(({ list }) => `${list.domain}:group.${list.name}`))];
    },
    memberships: async (names: readonly string[]) =>
      all()
        .filter(({ member }) => names.includes(member.name))
        .map(({ list: { domain, kind, name }, member }): Membership => {
          return { domain, kind, list: name, member: member.name };
        }),
    delegatedKeys: async () => [],
    serviceNames: async () => new Map(),
    formHolder: async () => undefined,
    endedNames: async () => [],
    ...answers,
  };
  return reader as unknown as StoreReader;
}

function entriesOf(domain: DomainRecord | undefined): MemberEntry[] {
  if (domain === undefined) return [];
  const lists: ListKey[] = [
    ...domain.groups.map(({ name }) => ({ kind: 'group', domain: domain.name, name }) as const),
    ...domain.roles.map(({ name }) => ({ kind: 'role', domain: domain.name, name }) as const),
  ];
  return lists.flatMap((list) => {
    const all: readonly { readonly name: string; readonly members: readonly MemberEntry['member'][] }[] =
      list.kind === 'role' ? domain.roles : domain.groups;
    return (all.find(({ name }) => name === list.name)?.members ?? []).map((member) => ({ list, member }));
  });
}

function countsOf(domain: DomainRecord | undefined): Readonly<Record<QuotaKind, number>> {
  const { roles = [], groups = [], policies = [], services = [] } = domain ?? {};
  const sum = (lists: readonly { readonly length: number }[]) => lists.reduce((total, { length }) => total + length, 0);
  return {
    roles: roles.length,
    members: sum([...roles, ...groups].map(({ members }) => members)),
    groups: groups.length,
    policies: policies.length,
    assertions: sum(policies.map(({ assertions }) => assertions)),
    services: services.length,
    keys: sum(services.map(({ publicKeys }) => publicKeys)),
  };
}
