import {
  type DomainName,
  InvalidNameError,
  type PrincipalName,
  parsePrincipalName,
  servicePrincipal,
  splitPrincipal,
} from '@signet/policy-engine/names';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { sortedInSteps } from '../steps/sorted-in-steps.ts';
import type { Steps } from '../steps/steps.ts';
import { Work } from './work.ts';

/** Principals that no membership tells apart: one by name, or all others that a wildcard member covers. */
export interface PrincipalClass {
  /** The name, or the wildcard: `media.*` then means those that are not named and that no longer wildcard covers. */
  readonly label: string;
  /** Restriction of the wildcard's principals to services of this domain, which is disabled on one side. */
  readonly within?: DomainName;
  readonly example: PrincipalName;
}

/** A name is sorted and parsed. */
const stepsAName = 100;

/** A name is compared with a prefix. */
const stepsAPrefix = 3;

/** Principals that may hold a role of the domain in one of the snapshots, by classes: names first, each part sorted. */
export function* principalClasses(
  sides: readonly { readonly snapshot: Snapshot; readonly domain: DomainSnapshot | undefined }[],
  off: readonly SwitchedOffPrincipals[] = sides.map(({ snapshot }) => switchedOff(snapshot)),
  work: Work = new Work(),
): Steps<PrincipalClass[]> {
  const { names, prefixes } = yield* membersOf(sides);
  const closed = new Set<DomainName>();
  // Without wildcards only named principals matter, and each result knows whether it is disabled.
  if (prefixes.length > 0) {
    for (const { services, domains } of off) {
      for (const service of services) names.add(service);
      for (const domain of domains) closed.add(domain);
    }
  }
  work.keep(names.size + prefixes.length);
  work.spend(stepsAName * (names.size + prefixes.length));
  const taken = { names, closed, prefixes, work };
  const named: PrincipalClass[] = [];
  for (const name of yield* sortedInSteps(names)) {
    yield;
    const found = toClass(name, name);
    if (found !== undefined) named.push(found);
  }
  return [
    ...named,
    ...prefixes.sort().flatMap((prefix) => exampleOf(prefix, taken) ?? []),
    ...[...closed].sort().flatMap((domain) => closedClasses(domain, taken)),
  ];
}

/** Names of members, and the texts before the `*` of wildcards. */
function* membersOf(sides: Parameters<typeof principalClasses>[0]): Steps<{ names: Set<string>; prefixes: string[] }> {
  const members = new Set<string>();
  for (const { snapshot, domain } of sides) {
    for (const source of membershipSources(snapshot, domain)) yield* collectMembers(snapshot, source, members);
  }
  const prefixes: string[] = [];
  const names = new Set<string>();
  for (const name of members) {
    yield;
    if (name.endsWith('*')) prefixes.push(name.slice(0, -1));
    else names.add(name);
  }
  return { names, prefixes };
}

/** Services and domains that are disabled: they hold no role anywhere. */
export interface SwitchedOffPrincipals {
  readonly services: ReadonlySet<PrincipalName>;
  readonly domains: ReadonlySet<DomainName>;
}

export function switchedOff(snapshot: Snapshot): SwitchedOffPrincipals {
  const services = new Set<PrincipalName>();
  for (const domain of snapshot.domains.values()) {
    for (const { name, enabled } of domain.services.values()) {
      if (!enabled) services.add(servicePrincipal(domain.name, name));
    }
  }
  return { services, domains: snapshot.disabledDomains };
}

/** The domain itself and the domains that its roles trust. */
function membershipSources(snapshot: Snapshot, domain: DomainSnapshot | undefined): DomainSnapshot[] {
  if (domain === undefined) return [];
  const trusted = [...domain.trusting.keys()].flatMap((name) => snapshot.domain(name) ?? []);
  return [domain, ...trusted];
}

function* collectMembers(snapshot: Snapshot, domain: DomainSnapshot, names: Set<string>): Steps<void> {
  const members = snapshot.members.get(domain.name);
  if (members === undefined) return;
  for (const name of members.names.keys()) {
    names.add(name);
    yield;
  }
  for (const prefix of members.prefixes.keys()) names.add(`${prefix}*`);
  for (const group of members.groupDomains) {
    for (const name of snapshot.members.get(group)?.groupMembers.keys() ?? []) {
      names.add(name);
      yield;
    }
  }
}

function toClass(label: string, example: string): PrincipalClass | undefined {
  try {
    return { label, example: parsePrincipalName(example) };
  } catch (error) {
    if (error instanceof InvalidNameError) return undefined;
    throw error;
  }
}

interface Taken {
  readonly names: ReadonlySet<string>;
  /** Domains that are disabled on one side: their services are classes of their own. */
  readonly closed: ReadonlySet<DomainName>;
  readonly prefixes: readonly string[];
  readonly work: Work;
}

const letters = [...'sabcdefghijklmnopqrtuvwxyz0123456789_-.'];
const endings = ['', 'omebody', '.somebody', 'x.y.somebody'];

/** Principal that this prefix covers, that is not named, that no longer prefix covers and whose domain is not disabled. */
function exampleOf(prefix: string, taken: Taken): PrincipalClass | undefined {
  const isFree = (name: string) => {
    const domain = splitPrincipal(name as PrincipalName)?.domain;
    return name.includes('.') && !taken.names.has(name) && !(domain !== undefined && taken.closed.has(domain));
  };
  return findName({ base: prefix, isFree }, taken, prefix, prefix === '' ? ['user.somebody'] : []);
}

/** The services of a domain that is disabled on one side, as far as wildcards cover them. */
function closedClasses(domain: DomainName, taken: Taken): PrincipalClass[] {
  taken.work.spend(stepsAPrefix * taken.prefixes.length);
  const own = `${domain}.`;
  const inside = taken.prefixes.filter((prefix) => prefix.startsWith(own) && !prefix.slice(own.length).includes('.'));
  const bases = taken.prefixes.some((prefix) => own.startsWith(prefix)) ? [own, ...inside] : inside;
  const isFree = (name: string) => splitPrincipal(name as PrincipalName)?.domain === domain && !taken.names.has(name);
  return [...new Set(bases)].flatMap((base) => {
    const found = findName({ base, isFree }, taken, base);
    return found === undefined ? [] : { ...found, within: domain };
  });
}

/** A name that this prefix covers and that is free. */
interface SoughtName {
  readonly base: string;
  readonly isFree: (name: string) => boolean;
}

/** Tries short continuations first; goes deeper only where others have taken all that begin with a letter. */
function findName(
  sought: SoughtName,
  taken: Taken,
  start: string,
  favourites: readonly string[] = [],
): PrincipalClass | undefined {
  const { base, isFree } = sought;
  const isCloser = (name: string) => {
    taken.work.spend(stepsAPrefix * taken.prefixes.length);
    return taken.prefixes.some((rival) => rival.length > base.length && name.startsWith(rival));
  };
  const tries = letters.flatMap((letter) => endings.map((ending) => start + letter + ending));
  for (const name of [...favourites, ...tries]) {
    if (isCloser(name) || !isFree(name)) continue;
    const found = toClass(`${base}*`, name);
    if (found !== undefined) return found;
  }
  for (const letter of letters) {
    const next = start + letter;
    taken.work.spend(stepsAPrefix * taken.prefixes.length);
    const isContested = taken.prefixes.some((rival) => rival.length > next.length && rival.startsWith(next));
    if (!isContested || isCloser(next)) continue;
    const found = findName(sought, taken, next);
    if (found !== undefined) return found;
  }
  return undefined;
}
