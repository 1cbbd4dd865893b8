import type { DomainName } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import type { WireAssertion } from '@signet/policy-engine/wire';
import { grantedRoles } from '../roles/granted-roles.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { type PrincipalClass, principalClasses } from './principal-classes.ts';
import { differenceOf, type Flip, type Rule } from './rule-difference.ts';

/** Requests whose answer changes for somebody. `principal` is a name, or a wildcard for all others that it covers. */
export interface AccessChange extends Omit<Flip, 'example'> {
  readonly domain: DomainName;
  readonly principal: string;
  readonly example: { readonly principal: string; readonly action: string; readonly resource: string };
}

/**
 * Who gains and who loses which access between two snapshots at `now` (milliseconds): exact over memberships, groups,
 * delegation, wildcards and DENY. Sorted by domain, principal, then losses before gains. Pure.
 * Throws `PatternsTooComplexError`.
 */
export function impactOf(before: Snapshot, after: Snapshot, now: number): AccessChange[] {
  const names = new Set([...before.domains.keys(), ...after.domains.keys()]);
  const isSwitched = switchedOff(before) !== switchedOff(after);
  const touched = [...names].filter((name) => {
    const was = before.domain(name);
    return isSwitched || was !== after.domain(name) || reachesOut(was);
  });
  return touched.sort().flatMap((name) => domainImpact(name, before, after, now));
}

/** Services and domains that are switched off: they hold no role anywhere. */
function switchedOff(snapshot: Snapshot): string {
  const services = [...snapshot.domains.values()].flatMap((domain) =>
    [...domain.services.values()].filter(({ enabled }) => !enabled).map(({ name }) => `${domain.name}.${name}`),
  );
  return [...services, ...snapshot.disabledDomains].sort().join();
}

function domainImpact(name: DomainName, before: Snapshot, after: Snapshot, now: number): AccessChange[] {
  const was = before.domain(name);
  const is = after.domain(name);
  const differences = new Map<string, readonly Flip[]>();
  const sides = [
    ...(was === undefined ? [] : [{ snapshot: before, domain: was }]),
    ...(is === undefined ? [] : [{ snapshot: after, domain: is }]),
  ];
  return principalClasses(sides).flatMap((principal) => {
    const held = roleNames(before, was, principal, now);
    const holds = roleNames(after, is, principal, now);
    const key = JSON.stringify([held, holds]);
    const flips = differences.get(key) ?? differenceOf(rulesOf(was, held), rulesOf(is, holds));
    differences.set(key, flips);
    return flips.map((flip) => toChange(name, principal, flip));
  });
}

/** An unchanged domain can still be touched by a change elsewhere: through its groups' domains and those it trusts. */
function reachesOut(domain: DomainSnapshot | undefined): boolean {
  if (domain === undefined) return false;
  return domain.membership.trusting.size > 0 || domain.membership.groupDomains.some((name) => name !== domain.name);
}

function roleNames(
  snapshot: Snapshot,
  domain: DomainSnapshot | undefined,
  principal: PrincipalClass,
  now: number,
): readonly string[] {
  if (domain === undefined) return [];
  return grantedRoles(snapshot, domain, principal.example, now).map((role) => role.name);
}

/** The rules of the active policies that speak of one of these roles, without the domain's own prefix. */
function rulesOf(domain: DomainSnapshot | undefined, roles: readonly string[]): Rule[] {
  if (domain === undefined || roles.length === 0) return [];
  const active = domain.policies.filter((policy) => policy.active !== false);
  const prefix = `${domain.name}:`;
  return active
    .flatMap((policy) => policy.assertions)
    .filter((assertion) => countsHere(assertion) && assertion.resource.toLowerCase().startsWith(prefix))
    .filter(({ role }) => speaksOf(withoutPrefix(withoutPrefix(role, prefix), 'role.'), roles))
    .map(({ effect, action, resource }) => ({
      effect: effect ?? 'ALLOW',
      action: action.toLowerCase(),
      resource: resource.slice(prefix.length).toLowerCase(),
    }));
}

/** As in the server's own checks, which know no host: a conditional ALLOW does not count, a conditional DENY does. */
function countsHere({ effect, conditions }: WireAssertion): boolean {
  return effect === 'DENY' || (conditions?.conditionsList.length ?? 0) === 0;
}

function speaksOf(rolePattern: string, roles: readonly string[]): boolean {
  return roles.some((role) => matchesPattern(rolePattern, role));
}

function withoutPrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

function toChange(domain: DomainName, principal: PrincipalClass, flip: Flip): AccessChange {
  const { action, resource } = flip.example;
  return {
    ...flip,
    domain,
    principal: principal.label,
    example: { principal: principal.example, action, resource: `${domain}:${resource}` },
  };
}
