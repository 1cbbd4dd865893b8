import type { DomainName } from '@signet/policy-engine/names';
import type { DecisionContext } from '@signet/policy-engine/policy';
import { grantedRoles } from '../roles/granted-roles.ts';
import type { DomainMembers } from '../snapshot/domain-members.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import type { OnProgress } from '../steps/progress.ts';
import { runAtOnce, type Steps } from '../steps/steps.ts';
import { differencesOf, type Flip, type PlacedFlip } from './assertion-difference.ts';
import type { Atom } from './atoms.ts';
import {
  assertionsInContext,
  type ConditionalAssertion,
  type ContextClass,
  type ContextSet,
  contextClasses,
  shortSets,
} from './contexts.ts';
import { domainAssertions } from './domain-assertions.ts';
import { type PrincipalClass, principalClasses, type SwitchedOffPrincipals, switchedOff } from './principal-classes.ts';
import { ImpactTooLargeError, Work } from './work.ts';

/** Requests whose answer changes for a principal. `principal` is a name, or a wildcard for all others that it covers. */
export interface AccessChange extends Omit<Flip, 'example'> {
  readonly domain: DomainName;
  readonly principal: string;
  /** Restriction of a wildcard to services of this domain, which is being enabled or disabled. */
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

/** How many changes there are, where not all of them are listed. */
export interface ImpactTotals {
  readonly gains: number;
  readonly losses: number;
  /** False if the numbers are lower bounds: finding the others would take too much. */
  readonly isExact: boolean;
}

/** Access that principals gain or lose. */
export interface Impact {
  readonly changes: readonly AccessChange[];
  /** Totals; present when it is too large to list. */
  readonly totals?: ImpactTotals;
}

/**
 * Access gained and lost between two snapshots at `now` (milliseconds): exact over memberships, groups, delegation, wildcards, conditions and
 * DENY. Sorted by domain, then by principal (names before wildcards). Pure. Throws `PatternsTooComplexError`.
 */
export function impactOf(before: Snapshot, after: Snapshot, now: number): readonly AccessChange[] {
  return runAtOnce(impactInSteps(before, after, now)).changes;
}

/** `impactOf` in slices, within the bounds of `work`. */
export function impactInSteps(before: Snapshot, after: Snapshot, now: number, work: Work = new Work()): Steps<Impact> {
  return impactWithin(touchedDomains(before, after), { before, after, now, work });
}

/** Snapshots to compare. */
export interface Comparison {
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly now: number;
  readonly work: Work;
  readonly onProgress?: OnProgress;
}

/** The impact in these domains, those that `touchedDomains` tells or some of them. */
export function* impactWithin(names: readonly DomainName[], comparison: Comparison): Steps<Impact> {
  const off = [switchedOff(comparison.before), switchedOff(comparison.after)] as const;
  const listing = new Listing(comparison.work);
  try {
    for (const [index, name] of names.entries()) {
      yield* domainImpact(name, comparison, off, listing);
      comparison.onProgress?.('comparing access, domains', index + 1, names.length);
    }
  } catch (error) {
    if (error instanceof ImpactTooLargeError) return listing.end(false);
    throw error;
  }
  return listing.end(true);
}

/** Lists changes as long as there is room, and counts all of them. */
class Listing {
  readonly #work: Work;
  readonly #changes: AccessChange[] = [];
  #characters = 0;
  #isFull = false;
  #gains = 0;
  #losses = 0;

  constructor(work: Work) {
    this.#work = work;
  }

  add(domain: DomainName, principal: PrincipalClass, difference: ContextDifference): void {
    this.#gains += difference.gains;
    this.#losses += difference.losses;
    for (const flip of difference.flips) {
      if (this.#isFull) return;
      this.#list(
        toChange(domain, principal, { ...difference.describe(flip), ...(flip.where && { where: flip.where }) }),
      );
    }
  }

  #list(change: AccessChange): void {
    const { maxListed, maxListedCharacters } = this.#work.bounds;
    if (Number.isFinite(maxListedCharacters)) this.#characters += JSON.stringify(change).length;
    this.#isFull = this.#changes.length >= maxListed || this.#characters > maxListedCharacters;
    if (!this.#isFull) this.#changes.push(change);
  }

  end(isExact: boolean): Impact {
    const [gains, losses] = [this.#gains, this.#losses];
    const isWhole = isExact && gains + losses === this.#changes.length;
    return { changes: this.#changes, ...(!isWhole && { totals: { gains, losses, isExact } }) };
  }
}

/** Domains in which access may differ between two snapshots, sorted. */
export function touchedDomains(before: Snapshot, after: Snapshot): readonly DomainName[] {
  const names = new Set([...before.domains.keys(), ...after.domains.keys()]);
  const differs = (name: DomainName) =>
    before.domain(name) !== after.domain(name) || before.members.get(name) !== after.members.get(name);
  const changed = new Set([...names].filter(differs));
  const isNamed = namesAny(switchedBetween(switchedOff(before), switchedOff(after)));
  // An unchanged domain is the same on both sides, and so are the domains that it reaches, but for the changed ones.
  const isTouched = (name: DomainName) => {
    const members = before.members.get(name);
    return changed.has(name) || (members !== undefined && isNamed(members));
  };
  return [...names].filter((name) => isTouched(name) || reachedFrom(before, name).some(isTouched)).sort();
}

/** Principals that are enabled or disabled between the two. */
function switchedBetween(was: SwitchedOffPrincipals, is: SwitchedOffPrincipals): SwitchedOffPrincipals {
  const differ = <Name>(one: ReadonlySet<Name>, other: ReadonlySet<Name>) =>
    new Set([...one, ...other].filter((name) => one.has(name) !== other.has(name)));
  return { services: differ(was.services, is.services), domains: differ(was.domains, is.domains) };
}

/** Predicate: roles or groups of a domain name one of these principals, or may do so by a wildcard. */
function namesAny({ services, domains }: SwitchedOffPrincipals): (members: DomainMembers) => boolean {
  if (services.size + domains.size === 0) return () => false;
  const prefixes = [...domains].map((name) => `${name}.`);
  const isIn = (names: ReadonlyMap<string, unknown>) =>
    [...services].some((name) => names.has(name)) ||
    (prefixes.length > 0 && [...names.keys()].some((name) => prefixes.some((prefix) => name.startsWith(prefix))));
  return ({ prefixLengths, names, groupMembers }) => prefixLengths.length > 0 || isIn(names) || isIn(groupMembers);
}

/**
 * Domains from which the memberships of a domain come: its groups' domains, those that its roles trust, and the domains of the groups of these.
 */
export function reachedFrom(snapshot: Snapshot, name: DomainName): readonly DomainName[] {
  const trusted = [...(snapshot.domain(name)?.trusting.keys() ?? [])];
  return [...trusted, ...[name, ...trusted].flatMap((domain) => snapshot.members.get(domain)?.groupDomains ?? [])];
}

interface Side {
  readonly snapshot: Snapshot;
  readonly domain: DomainSnapshot | undefined;
}

/** The roles of a principal are looked up. */
const stepsAPrincipal = 200;

function* domainImpact(
  name: DomainName,
  { before, after, now, work }: Comparison,
  off: readonly SwitchedOffPrincipals[],
  listing: Listing,
): Steps<void> {
  const was = { snapshot: before, domain: before.domain(name) };
  const is = { snapshot: after, domain: after.domain(name) };
  const [oldAssertions, newAssertions] = [domainAssertions(was.domain), domainAssertions(is.domain)];
  const isSamePolicy = was.domain?.policies === is.domain?.policies;
  const differences = new Map<string, ContextDifference>();
  for (const principal of yield* principalClasses([was, is], off, work)) {
    yield;
    work.spend(stepsAPrincipal);
    const held = roleNames(was, principal, now);
    const holds = roleNames(is, principal, now);
    if (isSamePolicy && held.join() === holds.join()) continue;
    // Role names hold neither commas nor bars.
    const key = `${held.join()}|${holds.join()}`;
    const known = differences.get(key);
    const difference =
      known ?? differenceIn(oldAssertions.assertionsFor(held, work), newAssertions.assertionsFor(holds, work), work);
    if (known === undefined) work.keep(1);
    differences.set(key, difference);
    listing.add(name, principal, difference);
  }
}

function roleNames({ snapshot, domain }: Side, principal: PrincipalClass, now: number): readonly string[] {
  if (domain === undefined) return [];
  return grantedRoles(snapshot, domain, principal.example, now).map((role) => role.name);
}

interface ContextFlip extends PlacedFlip {
  /** Hosts for which it holds, if not all. */
  readonly where?: Where;
}

/** Some hosts of all that there are. */
interface Where {
  readonly classes: readonly ContextClass[];
  readonly all: readonly ContextClass[];
}

interface ContextDifference {
  readonly flips: readonly ContextFlip[];
  readonly gains: number;
  readonly losses: number;
  describe(flip: PlacedFlip): Flip;
}

/** Differing accesses, with the hosts that they concern. */
function differenceIn(
  before: readonly ConditionalAssertion[],
  after: readonly ConditionalAssertion[],
  work: Work,
): ContextDifference {
  const classes = contextClasses([...before, ...after], work);
  work.spend(stepsACondition * classes.length * (before.length + after.length));
  const pairs = classes.map(({ example }) => ({
    before: assertionsInContext(before, example),
    after: assertionsInContext(after, example),
  }));
  const differences = differencesOf(pairs, work);
  const flips =
    classes.length === 1
      ? differences.flatMap((one) => one.flips)
      : mergeContexts(
          differences.map((one) => one.flips),
          classes,
          work,
        );
  const gains = flips.reduce((sum, { change }) => sum + Number(change === 'gain'), 0);
  const describe = (flip: PlacedFlip) => {
    const [first] = differences;
    if (first === undefined) throw new Error('there is nothing to describe');
    return first.describe(flip);
  };
  return { flips, gains, losses: flips.length - gains, describe };
}

/** A condition is compared with a host. */
const stepsACondition = 10;

/** The same flip on several kinds of hosts is one. */
function mergeContexts(
  flipsByContext: readonly (readonly PlacedFlip[])[],
  classes: readonly ContextClass[],
  work: Work,
): ContextFlip[] {
  const found = new Map<string, { readonly flip: PlacedFlip; readonly where: ContextClass[] }>();
  const numbers = new Map<Atom, number>();
  const numberOf = (atom: Atom) => {
    const number = numbers.get(atom) ?? numbers.size;
    numbers.set(atom, number);
    return number;
  };
  for (const [index, flips] of flipsByContext.entries()) {
    const context = classes.slice(index, index + 1);
    for (const flip of flips) {
      work.keep(1);
      const key = `${flip.change} ${numberOf(flip.action)} ${numberOf(flip.resource)}`;
      const same = found.get(key);
      if (same === undefined) found.set(key, { flip, where: [...context] });
      else same.where.push(...context);
    }
  }
  return [...found.values()].map(({ flip, where }) =>
    where.length === classes.length ? flip : { ...flip, where: { classes: where, all: classes } },
  );
}

function toChange(
  domain: DomainName,
  principal: PrincipalClass,
  flip: Flip & Pick<ContextFlip, 'where'>,
): AccessChange {
  const { where, ...rest } = flip;
  const { action, resource } = flip.example;
  const [first] = where?.classes ?? [];
  return {
    ...rest,
    domain,
    principal: principal.label,
    ...(principal.within !== undefined && { within: principal.within }),
    ...(where !== undefined && { contexts: shortSets(where.classes, where.all) }),
    example: {
      principal: principal.example,
      action,
      resource: `${domain}:${resource}`,
      ...(first !== undefined && { context: first.example }),
    },
  };
}
