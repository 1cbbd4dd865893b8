import { type DomainName, type ServiceName, servicePrincipal } from '@signet/policy-engine/names';
import type { DomainChange } from '../model/domain-change.ts';
import type { MemberSearch, StoreReader } from '../model/store.ts';

/**
 * Stored domains in which access may change: the changed ones, those whose roles have groups of theirs, or members that are enabled or disabled,
 * and those whose roles trust any of these. May name some too many.
 */
export async function affectedDomains(
  reader: StoreReader,
  changes: readonly DomainChange[],
): Promise<readonly DomainName[]> {
  const names = changes.map(({ name }) => name);
  const members = switchedMembers(changes);
  const groups = { names: [], prefixes: names.map((name) => `${name}:group.`) };
  const direct = [...names, ...(await reader.domainsWithMember(groups)), ...(await listing(reader, members))];
  return await withTrusting(reader, direct);
}

/** The domains whose roles have such members, themselves or in groups. */
async function listing(reader: StoreReader, members: MemberSearch): Promise<readonly DomainName[]> {
  const inGroups = { names: await reader.groupsWithMember(members), prefixes: [] };
  return [...(await reader.domainsWithMember(members)), ...(await reader.domainsWithMember(inGroups))];
}

/** Adds the domains whose roles trust them. */
async function withTrusting(reader: StoreReader, direct: readonly DomainName[]): Promise<readonly DomainName[]> {
  const names = [...new Set(direct)];
  return [...new Set([...names, ...(await reader.domainsTrusting(names))])];
}

/** The members that name who is switched on or off by the changes, wildcards included. */
function switchedMembers(changes: readonly DomainChange[]): MemberSearch {
  const names = new Set<string>();
  const prefixes: string[] = [];
  for (const { name, before, after, services } of changes) {
    if (before !== undefined && before.enabled !== after.enabled) {
      prefixes.push(`${name}.`);
      for (const wildcard of wildcardsOf(`${name}.`)) names.add(wildcard);
    }
    for (const service of switchedServices(services)) {
      const principal = servicePrincipal(name, service);
      names.add(principal);
      for (const wildcard of wildcardsOf(principal)) names.add(wildcard);
    }
  }
  return { names: [...names], prefixes };
}

/** Services that are removed, enabled or disabled; a new disabled one grants nothing and granted nothing before. */
function switchedServices({ removed, changed }: DomainChange['services']): ServiceName[] {
  const switched = changed.filter(({ before, after }) => before.enabled !== after.enabled).map(({ after }) => after);
  return [...removed.filter(({ enabled }) => enabled), ...switched].map(({ name }) => name);
}

/** Every wildcard member that covers what begins with `text`. */
export function wildcardsOf(text: string): string[] {
  return Array.from({ length: text.length + 1 }, (_, length) => `${text.slice(0, length)}*`);
}
