import type { DomainName } from '@signet/policy-engine/names';
import { grantedRoles } from '../roles/granted-roles.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { domainRules } from './domain-rules.ts';
import { type PrincipalClass, principalClasses, switchedOff } from './principal-classes.ts';
import { differenceOf, type Flip } from './rule-difference.ts';

/** Requests whose answer changes for somebody. `principal` is a name, or a wildcard for all others that it covers. */
export interface AccessChange extends Omit<Flip, 'example'> {
  readonly domain: DomainName;
  readonly principal: string;
  /** Where set, a wildcard means only services of this domain, which is being switched on or off. */
  readonly within?: DomainName;
  readonly example: { readonly principal: string; readonly action: string; readonly resource: string };
}

/**
 * Who gains and who loses which access between two snapshots at `now` (milliseconds): exact over memberships, groups,
 * delegation, wildcards and DENY. Sorted by domain, then by principal (names before wildcards). Pure.
 * Throws `PatternsTooComplexError`.
 */
export function impactOf(before: Snapshot, after: Snapshot, now: number): AccessChange[] {
  const names = new Set([...before.domains.keys(), ...after.domains.keys()]);
  const changed = new Set([...names].filter((name) => before.domain(name) !== after.domain(name)));
  const isSwitched = switchedOff(before).join() !== switchedOff(after).join();
  const touched = [...names].filter(
    (name) => isSwitched || changed.has(name) || reachesInto(before, before.domain(name), changed),
  );
  return touched.sort().flatMap((name) => domainImpact(name, before, after, now));
}

/**
 * An unchanged domain is touched by a change elsewhere: in the domains of its groups, in those that its roles trust, and in
 * the domains of the groups of these.
 */
function reachesInto(
  snapshot: Snapshot,
  domain: DomainSnapshot | undefined,
  changed: ReadonlySet<DomainName>,
): boolean {
  if (domain === undefined) return false;
  const { trusting, groupDomains } = domain.membership;
  if (groupDomains.some((name) => changed.has(name))) return true;
  return [...trusting.keys()].some(
    (name) =>
      changed.has(name) || snapshot.domain(name)?.membership.groupDomains.some((group) => changed.has(group)) === true,
  );
}

interface Side {
  readonly snapshot: Snapshot;
  readonly domain: DomainSnapshot | undefined;
}

function domainImpact(name: DomainName, before: Snapshot, after: Snapshot, now: number): AccessChange[] {
  const was = { snapshot: before, domain: before.domain(name) };
  const is = { snapshot: after, domain: after.domain(name) };
  const [oldRules, newRules] = [domainRules(was.domain), domainRules(is.domain)];
  const isSamePolicy = was.domain?.policies === is.domain?.policies;
  const differences = new Map<string, readonly Flip[]>();
  return principalClasses([was, is]).flatMap((principal) => {
    const held = roleNames(was, principal, now);
    const holds = roleNames(is, principal, now);
    if (isSamePolicy && held.join() === holds.join()) return [];
    // Role names hold neither commas nor bars.
    const key = `${held.join()}|${holds.join()}`;
    const flips = differences.get(key) ?? differenceOf(oldRules.rulesFor(held), newRules.rulesFor(holds));
    differences.set(key, flips);
    return flips.map((flip) => toChange(name, principal, flip));
  });
}

function roleNames({ snapshot, domain }: Side, principal: PrincipalClass, now: number): readonly string[] {
  if (domain === undefined) return [];
  return grantedRoles(snapshot, domain, principal.example, now).map((role) => role.name);
}

function toChange(domain: DomainName, principal: PrincipalClass, flip: Flip): AccessChange {
  const { action, resource } = flip.example;
  return {
    ...flip,
    domain,
    principal: principal.label,
    ...(principal.within !== undefined && { within: principal.within }),
    example: { principal: principal.example, action, resource: `${domain}:${resource}` },
  };
}
