import { type DomainName, fullRoleName, type PrincipalName, type RoleName } from '@signet/policy-engine/names';
import { Work } from '@signet/policy-engine/policy';
import { isInRole, visitRoles } from '../snapshot/domain-members.ts';
import { type DomainSnapshot, holdsNothing, type RoleSnapshot, type Snapshot } from '../snapshot/snapshot.ts';
import { maxPatternWork, RolePatterns } from './role-patterns.ts';

/** Approximate cost of finding that a role is held, in units of `maxWork` of the engine. */
export const stepsARole = 20;

/** The same of a pattern that is made ready, of a role that may be assumed. */
const stepsAPattern = 10;

/** Callback for the cost of decisions, in units of `maxWork` of the engine. */
export type Compared = (work: number) => void;

/** Time of the query, and its cost callback. */
export interface Moment {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Called with the cost of finding the roles that may be assumed, also where there are none. */
  readonly compared?: Compared | undefined;
  /** Called when an entry by which a role is held has an end (`visitRoles`). */
  readonly onEnd?: (() => void) | undefined;
}

/** Roles of `heldRoles`, without charging the cost. */
export function grantedRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): readonly RoleSnapshot[] {
  return heldRoles(snapshot, domain, principal, { now });
}

/**
 * The roles of `domain` that `principal` holds at `now` (milliseconds), sorted by name: as a direct member, through `*`, a prefix
 * or a group, through an `assume_role` assertion of the domain itself, and through roles that trust another domain. Names are
 * compared exactly (docs/reference/access-checks.md#who-holds-a-role). Every entry counts, so an expired one never hides a valid one. A
 * service that is disabled or does not exist holds nothing. Tokens, certificates and access checks all ask here, so they cannot differ.
 */
export function heldRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  moment: Moment,
): readonly RoleSnapshot[] {
  if (holdsNothing(snapshot, principal)) return [];
  const granted = listedRoles(snapshot, domain, principal, moment);
  addOwnAssumedRoles(domain, granted, moment.compared);
  for (const [trusted, roles] of domain.trusting) {
    for (const role of delegatedRoles(snapshot, domain, principal, { trusted, roles, ...moment })) granted.add(role);
  }
  return sorted(granted);
}

/**
 * Requested roles that `grantedRoles` lists. The cost depends on the request, however many roles the principal holds in the domain. Where that
 * gives up for too many wildcards of a trusted domain, a role that is asked for alone may still be found.
 */
export function grantedAmong(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  { asked, now, compared, onEnd }: Moment & { readonly asked: ReadonlySet<RoleName> },
): readonly RoleSnapshot[] {
  if (holdsNothing(snapshot, principal)) return [];
  const members = snapshot.members.get(domain.name);
  const isListed = (role: RoleName) =>
    members !== undefined && isInRole(members, (name) => snapshot.members.get(name), principal, { role, now, onEnd });
  const granted = new Set<RoleSnapshot>();
  const trusting = new Map<DomainName, RoleName[]>();
  for (const name of asked) {
    const role = domain.roles.get(name);
    if (role === undefined) continue;
    if (isListed(name) || domain.assumers.get(name)?.some(isListed) === true) granted.add(role);
    else if (role.trust !== undefined) trusting.set(role.trust, [...(trusting.get(role.trust) ?? []), name]);
  }
  for (const [trusted, roles] of trusting) {
    for (const role of delegatedRoles(snapshot, domain, principal, { trusted, roles, now, compared, onEnd }))
      granted.add(role);
  }
  return sorted(granted);
}

function sorted(roles: ReadonlySet<RoleSnapshot>): readonly RoleSnapshot[] {
  const list = [...roles];
  const isSorted = list.every(({ name }, at) => at === 0 || (list[at - 1]?.name ?? '') < name);
  return isSorted ? list : list.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The roles that list the principal, without delegation. */
export function directRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): readonly RoleSnapshot[] {
  if (holdsNothing(snapshot, principal)) return [];
  return [...listedRoles(snapshot, domain, principal, { now })];
}

function listedRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  { now, onEnd }: Omit<Moment, 'compared'>,
): Set<RoleSnapshot> {
  const roles = new Set<RoleSnapshot>();
  const members = snapshot.members.get(domain.name);
  if (members === undefined) return roles;
  const visit = (name: RoleName) => {
    const role = domain.roles.get(name);
    if (role !== undefined) roles.add(role);
  };
  visitRoles(members, (name) => snapshot.members.get(name), principal, { now, onEnd, visit });
  return roles;
}

/** Adds assumed roles, one hop only: a role gained here gives no further one. */
function addOwnAssumedRoles(domain: DomainSnapshot, granted: Set<RoleSnapshot>, compared: Moment['compared']): void {
  if (domain.assumable.size === 0) return;
  for (const target of assumableBy(domain, [...granted], compared)) {
    const role = ownRole(domain, target);
    if (role !== undefined) granted.add(role);
  }
}

/** Roles that a member of these roles of the domain may assume. */
function assumableBy(
  { assumable }: DomainSnapshot,
  listed: Iterable<RoleSnapshot>,
  compared: Moment['compared'],
): readonly string[] {
  const targets = [...listed].flatMap(({ name }) => assumable.get(name) ?? []);
  compared?.(targets.length * stepsAPattern);
  return targets;
}

/** A role of the domain by its full name, and by no pattern. */
function ownRole({ name, roles }: DomainSnapshot, full: string): RoleSnapshot | undefined {
  const prefix = `${name}:role.`;
  return full.startsWith(prefix) ? roles.get(full.slice(prefix.length) as RoleName) : undefined;
}

/**
 * True if the policy of the domain lets members of these of its roles assume a role, folded: the check of `heldRoles` for the domain's own roles
 * and for those of others that trust it.
 */
export function mayAssume(
  domain: DomainSnapshot,
  listed: readonly RoleSnapshot[],
  role: string,
  compared?: Compared,
): boolean {
  const targets = assumableBy(domain, listed, compared);
  if (role.startsWith(`${domain.name}:`)) return ownRole(domain, role) !== undefined && targets.includes(role);
  const work = new Work(maxPatternWork);
  const fits = targets.length > 0 && new RolePatterns(targets).fits(role, false, work);
  compared?.(work.spent);
  return fits;
}

/**
 * Roles of the given ones that the trusted domain lets the principal assume. Patterns with too many wildcards to compare give none: a token
 * request does not wait for the policy of the trusted domain.
 */
function delegatedRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  {
    trusted,
    roles,
    now,
    compared,
    onEnd,
  }: Moment & { readonly trusted: DomainName; readonly roles: readonly RoleName[] },
): readonly RoleSnapshot[] {
  const partner = snapshot.domain(trusted);
  if (partner === undefined || partner.assumable.size === 0) return [];
  const held = listedRoles(snapshot, partner, principal, { now, onEnd });
  compared?.(held.size * stepsARole);
  const assumable = assumableBy(partner, held, compared);
  if (assumable.length === 0) return [];
  const patterns = new RolePatterns(assumable);
  const work = new Work(maxPatternWork);
  const lent = roles.flatMap((name) => {
    const role = domain.roles.get(name);
    return role !== undefined && patterns.fits(fullRoleName(domain.name, name), false, work) ? [role] : [];
  });
  compared?.(roles.length * stepsARole + work.spent);
  return lent;
}
