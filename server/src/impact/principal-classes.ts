import { InvalidNameError, type PrincipalName, parsePrincipalName } from '@signet/policy-engine/names';
import type { DomainSnapshot, Member, Snapshot } from '../snapshot/snapshot.ts';

/** Principals that no membership tells apart: one by name, or all others that a wildcard member covers. */
export interface PrincipalClass {
  /** The name, or the wildcard: `media.*` then means those that are not named and that no longer wildcard covers. */
  readonly label: string;
  /** One of them. */
  readonly example: PrincipalName;
}

/** Everybody who may hold a role of the domain in one of the snapshots, by classes. */
export function principalClasses(domains: readonly { snapshot: Snapshot; domain: DomainSnapshot }[]): PrincipalClass[] {
  const names = new Set<string>();
  for (const { snapshot, domain } of domains) {
    for (const source of membershipSources(snapshot, domain)) {
      collect(source, names);
      for (const group of source.membership.groupDomains) collectGroups(snapshot.domain(group), names);
    }
  }
  const wildcards = [...names].filter((name) => name.endsWith('*'));
  const exact = [...names].filter((name) => !name.endsWith('*') && !name.includes(':')).sort();
  const prefixes = wildcards.map((wildcard) => wildcard.slice(0, -1)).sort();
  return [
    ...exact.flatMap((name) => toClass(name, name) ?? []),
    ...prefixes.flatMap((prefix) => exampleOf(prefix, prefixes, names) ?? []),
  ];
}

/** The domain itself and the domains that its roles trust. */
function membershipSources(snapshot: Snapshot, domain: DomainSnapshot): DomainSnapshot[] {
  const trusted = [...domain.membership.trusting.keys()].flatMap((name) => snapshot.domain(name) ?? []);
  return [domain, ...trusted];
}

function collect(domain: DomainSnapshot, names: Set<string>): void {
  for (const role of domain.roles.values()) for (const member of role.members) names.add(nameOf(member));
}

function collectGroups(domain: DomainSnapshot | undefined, names: Set<string>): void {
  for (const name of domain?.membership.groupMembers.keys() ?? []) names.add(name);
}

function nameOf(member: Member): string {
  return member.name;
}

function toClass(label: string, example: string): PrincipalClass | undefined {
  try {
    return { label, example: parsePrincipalName(example) };
  } catch (error) {
    if (error instanceof InvalidNameError) return undefined;
    throw error;
  }
}

const endings = ['somebody', 'x', 'x.somebody', 'other', 'other.somebody', 'q0', 'q0.somebody', 'zz', 'zz.somebody'];

/** A principal that this prefix covers, that nobody named and that no longer prefix covers. */
function exampleOf(
  prefix: string,
  prefixes: readonly string[],
  names: ReadonlySet<string>,
): PrincipalClass | undefined {
  for (const ending of prefix === '' ? ['user.somebody', ...endings] : endings) {
    const name = prefix + ending;
    const isCoveredCloser = prefixes.some((rival) => rival.length > prefix.length && name.startsWith(rival));
    if (names.has(name) || isCoveredCloser || !name.includes('.')) continue;
    const found = toClass(`${prefix}*`, name);
    if (found !== undefined) return found;
  }
  return undefined;
}
