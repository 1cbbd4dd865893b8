import type { DomainName } from '@signet/policy-engine/names';
import type { DecisionContext } from '@signet/policy-engine/policy';
import { grantedRoles } from '../roles/granted-roles.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { runAtOnce, type Steps } from '../snapshot/steps.ts';
import {
  type ConditionalRule,
  type ContextClass,
  type ContextSet,
  contextClasses,
  rulesInContext,
} from './contexts.ts';
import { domainRules } from './domain-rules.ts';
import { type PrincipalClass, principalClasses, type SwitchedOffPrincipals, switchedOff } from './principal-classes.ts';
import { differenceOf, differencesOf, type Flip } from './rule-difference.ts';

/** Requests whose answer changes for somebody. `principal` is a name, or a wildcard for all others that it covers. */
export interface AccessChange extends Omit<Flip, 'example'> {
  readonly domain: DomainName;
  readonly principal: string;
  /** Where set, a wildcard means only services of this domain, which is being switched on or off. */
  readonly within?: DomainName;
  /** The hosts for which it is so; absent: it is so everywhere, and for the server's own checks. */
  readonly contexts?: readonly ContextSet[];
  readonly example: {
    readonly principal: string;
    readonly action: string;
    readonly resource: string;
    readonly context?: DecisionContext;
  };
}

/**
 * Who gains and who loses which access between two snapshots at `now` (milliseconds): exact over memberships, groups,
 * delegation, wildcards, conditions and DENY. Sorted by domain, then by principal (names before wildcards). Pure.
 * Throws `PatternsTooComplexError`.
 */
export function impactOf(before: Snapshot, after: Snapshot, now: number): AccessChange[] {
  return runAtOnce(impactInSteps(before, after, now));
}

/** `impactOf` in slices: a domain may have a hundred thousand members, and requests wait. */
export function impactInSteps(before: Snapshot, after: Snapshot, now: number): Steps<AccessChange[]> {
  return impactWithin(touchedDomains(before, after), before, after, now);
}

/** The impact in these domains, those that `touchedDomains` tells or some of them. */
export function* impactWithin(
  names: readonly DomainName[],
  before: Snapshot,
  after: Snapshot,
  now: number,
): Steps<AccessChange[]> {
  const off = [switchedOff(before), switchedOff(after)] as const;
  const found: AccessChange[][] = [];
  for (const name of names) found.push(yield* domainImpact(name, before, after, now, off));
  return found.flat();
}

/** The domains in which somebody's access may differ between two snapshots, sorted. */
export function touchedDomains(before: Snapshot, after: Snapshot): readonly DomainName[] {
  const names = new Set([...before.domains.keys(), ...after.domains.keys()]);
  const changed = new Set([...names].filter((name) => before.domain(name) !== after.domain(name)));
  const isNamed = namesAny(switchedBetween(switchedOff(before), switchedOff(after)));
  // An unchanged domain is the same on both sides, and so are the domains that it reaches, but for the changed ones.
  const isTouched = (name: DomainName) => {
    const domain = before.domain(name);
    return changed.has(name) || (domain !== undefined && isNamed(domain));
  };
  return [...names].filter((name) => isTouched(name) || reachedFrom(before, name).some(isTouched)).sort();
}

/** Who is switched on or off between the two. */
function switchedBetween(was: SwitchedOffPrincipals, is: SwitchedOffPrincipals): SwitchedOffPrincipals {
  const differ = <Name>(one: ReadonlySet<Name>, other: ReadonlySet<Name>) =>
    new Set([...one, ...other].filter((name) => one.has(name) !== other.has(name)));
  return { services: differ(was.services, is.services), domains: differ(was.domains, is.domains) };
}

/** Whether roles or groups of a domain name one of these principals, or may do so by a wildcard. */
function namesAny({ services, domains }: SwitchedOffPrincipals): (domain: DomainSnapshot) => boolean {
  if (services.size + domains.size === 0) return () => false;
  const prefixes = [...domains].map((name) => `${name}.`);
  const isIn = (members: ReadonlyMap<string, unknown>) =>
    [...services].some((name) => members.has(name)) ||
    (prefixes.length > 0 && [...members.keys()].some((name) => prefixes.some((prefix) => name.startsWith(prefix))));
  return ({ membership: { everyone, prefixLengths, members, groupMembers } }) =>
    everyone.length + prefixLengths.length > 0 || isIn(members) || isIn(groupMembers);
}

/** Where the memberships of a domain come from: its groups' domains, those that its roles trust, and the domains of the groups of these. */
export function reachedFrom(snapshot: Snapshot, name: DomainName): readonly DomainName[] {
  const membership = snapshot.domain(name)?.membership;
  if (membership === undefined) return [];
  const trusted = [...membership.trusting.keys()];
  const theirs = trusted.flatMap((other) => snapshot.domain(other)?.membership.groupDomains ?? []);
  return [...membership.groupDomains, ...trusted, ...theirs];
}

interface Side {
  readonly snapshot: Snapshot;
  readonly domain: DomainSnapshot | undefined;
}

function* domainImpact(
  name: DomainName,
  before: Snapshot,
  after: Snapshot,
  now: number,
  off: readonly SwitchedOffPrincipals[],
): Steps<AccessChange[]> {
  const was = { snapshot: before, domain: before.domain(name) };
  const is = { snapshot: after, domain: after.domain(name) };
  const [oldRules, newRules] = [domainRules(was.domain), domainRules(is.domain)];
  const isSamePolicy = was.domain?.policies === is.domain?.policies;
  const differences = new Map<string, readonly ContextFlip[]>();
  const changes: AccessChange[] = [];
  for (const principal of yield* principalClasses([was, is], off)) {
    yield;
    const held = roleNames(was, principal, now);
    const holds = roleNames(is, principal, now);
    if (isSamePolicy && held.join() === holds.join()) continue;
    // Role names hold neither commas nor bars.
    const key = `${held.join()}|${holds.join()}`;
    const flips = differences.get(key) ?? flipsOf(oldRules.rulesFor(held), newRules.rulesFor(holds));
    differences.set(key, flips);
    for (const flip of flips) changes.push(toChange(name, principal, flip));
  }
  return changes;
}

function roleNames({ snapshot, domain }: Side, principal: PrincipalClass, now: number): readonly string[] {
  if (domain === undefined) return [];
  return grantedRoles(snapshot, domain, principal.example, now).map((role) => role.name);
}

interface ContextFlip extends Flip {
  /** Where it is not so everywhere. */
  readonly where?: readonly ContextClass[];
}

/** What differs, with the hosts for which it does. */
function flipsOf(before: readonly ConditionalRule[], after: readonly ConditionalRule[]): readonly ContextFlip[] {
  const classes = contextClasses([...before, ...after]);
  if (classes.length === 1) return differenceOf(before, after);
  const pairs = classes.map(({ example }) => ({
    before: rulesInContext(before, example),
    after: rulesInContext(after, example),
  }));
  const found = new Map<string, { readonly flip: Flip; readonly where: ContextClass[] }>();
  for (const [index, flips] of differencesOf(pairs).entries()) {
    const context = classes.slice(index, index + 1);
    for (const flip of flips) {
      const { example: _, ...what } = flip;
      const key = JSON.stringify(what);
      const same = found.get(key);
      if (same === undefined) found.set(key, { flip, where: [...context] });
      else same.where.push(...context);
    }
  }
  return [...found.values()].map(({ flip, where }) => (where.length === classes.length ? flip : { ...flip, where }));
}

function toChange(domain: DomainName, principal: PrincipalClass, flip: ContextFlip): AccessChange {
  const { where, ...rest } = flip;
  const { action, resource } = flip.example;
  const [first] = where ?? [];
  return {
    ...rest,
    domain,
    principal: principal.label,
    ...(principal.within !== undefined && { within: principal.within }),
    ...(where !== undefined && { contexts: where.map(({ set }) => set) }),
    example: {
      principal: principal.example,
      action,
      resource: `${domain}:${resource}`,
      ...(first !== undefined && { context: first.example }),
    },
  };
}
