import { type DomainName, type ServiceName, servicePrincipal } from '@signet/policy-engine/names';
import type { DomainContent, DomainRecord } from '../model/records.ts';
import type { MemberSearch, StoreReader } from '../model/store.ts';

/** A domain that changes; without `before` it is new. */
interface ChangedDomain {
  readonly before: DomainRecord | undefined;
  readonly after: DomainContent;
}

/**
 * Every stored domain in which somebody's access may change: the changed ones, those whose roles have groups of theirs, or members
 * that are switched on or off, and those whose roles trust any of these. May name some too many.
 */
export async function affectedDomains(
  reader: StoreReader,
  changes: readonly ChangedDomain[],
): Promise<readonly DomainName[]> {
  const names = changes.map(({ after }) => after.name);
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

/** With those whose roles trust them. */
async function withTrusting(reader: StoreReader, direct: readonly DomainName[]): Promise<readonly DomainName[]> {
  const names = [...new Set(direct)];
  return [...new Set([...names, ...(await reader.domainsTrusting(names))])];
}

/** The members that name who is switched on or off by the changes, wildcards included. */
function switchedMembers(changes: readonly ChangedDomain[]): MemberSearch {
  const names = new Set<string>();
  const prefixes: string[] = [];
  for (const { before, after } of changes) {
    const services = switchedServices(before, after);
    if ((before?.enabled ?? true) !== after.enabled) {
      prefixes.push(`${after.name}.`);
      for (const wildcard of wildcardsOf(`${after.name}.`)) names.add(wildcard);
    }
    for (const service of services) {
      const principal = servicePrincipal(after.name, service);
      names.add(principal);
      for (const wildcard of wildcardsOf(principal)) names.add(wildcard);
    }
  }
  return { names: [...names], prefixes };
}

function switchedServices(before: DomainContent | undefined, after: DomainContent): ServiceName[] {
  const off = (content: DomainContent | undefined) =>
    new Set(content?.services.filter(({ enabled }) => !enabled).map(({ name }) => name));
  const [was, is] = [off(before), off(after)];
  return [...was, ...is].filter((name) => was.has(name) !== is.has(name));
}

/** Every wildcard member that covers what begins with `text`. */
export function wildcardsOf(text: string): string[] {
  return Array.from({ length: text.length + 1 }, (_, length) => `${text.slice(0, length)}*`);
}
