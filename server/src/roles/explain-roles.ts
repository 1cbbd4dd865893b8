import { type DomainName, fullRoleName, type PrincipalName, type RoleName } from '@signet/policy-engine/names';
import { Work } from '@signet/policy-engine/policy';
import { coveringEntries, type DomainMembers, type Entry } from '../snapshot/domain-members.ts';
import type { DomainSnapshot, RoleSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import type { Steps } from '../steps/steps.ts';
import { directRoles, heldRoles } from './granted-roles.ts';
import { maxPatternWork, RolePatterns } from './role-patterns.ts';

/** Path from a principal to a role, or why an entry that names it does not apply. */
export type RolePath =
  | { readonly kind: 'member'; readonly entry: string; readonly state: EntryState }
  | { readonly kind: 'group'; readonly group: string; readonly state: EntryState }
  /** Through a rule `assume_role` of the domain itself, by way of another role. */
  | { readonly kind: 'assumed'; readonly from: RoleName }
  /** Through a role of the domain that this role trusts. */
  | { readonly kind: 'delegated'; readonly domain: DomainName; readonly from: RoleName };

type EntryState = 'counts' | 'expired' | 'disabled';

export interface ExplainedRole {
  readonly role: RoleName;
  readonly held: boolean;
  readonly paths: readonly RolePath[];
}

/** Time at which roles are held, in milliseconds, and the callback for the cost of comparing patterns, in units of `maxWork` of the engine. */
export interface Explaining {
  readonly now: number;
  readonly compared: (work: number) => void;
}

/**
 * Every role of the domain that has something to do with the principal, with how, sorted by name. `held` agrees with `grantedRoles`.
 */
export function* explainRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  explaining: Explaining,
): Steps<ExplainedRole[]> {
  const held = new Set(heldRoles(snapshot, domain, principal, explaining).map((role) => role.name));
  const pathsOf = rolePaths(snapshot, domain, principal, explaining);
  const explained: ExplainedRole[] = [];
  for (const role of domain.roles.values()) {
    yield;
    const paths = pathsOf(role);
    const isHeld = held.has(role.name);
    if (isHeld || paths.length > 0) explained.push({ role: role.name, held: isHeld, paths });
  }
  return explained.sort((a, b) => (a.role < b.role ? -1 : 1));
}

/** Explanation of the held roles only. */
export function* explainHeldRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  explaining: Explaining,
): Steps<ExplainedRole[]> {
  const held = heldRoles(snapshot, domain, principal, explaining);
  // Fast path: most principals hold nothing in most domains.
  if (held.length === 0) return [];
  const pathsOf = rolePaths(snapshot, domain, principal, explaining);
  const explained: ExplainedRole[] = [];
  for (const role of held) {
    yield;
    explained.push({ role: role.name, held: true, paths: pathsOf(role) });
  }
  return explained;
}

/** The ways of the principal into a role of the domain. What they have in common is found once: a principal may hold thousands of roles. */
function rolePaths(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  { now, compared }: Explaining,
): (role: RoleSnapshot) => readonly RolePath[] {
  const direct = directRoles(snapshot, domain, principal, now);
  const places = new Map(direct.map(({ name }, place) => [name, place]));
  const entries = entryPaths(snapshot, domain, principal, now);
  const known = new Map<DomainSnapshot, readonly Assuming[]>();
  const assumingIn = (partner: DomainSnapshot) => {
    const assuming = known.get(partner) ?? assumingRoles(partner, directRoles(snapshot, partner, principal, now));
    known.set(partner, assuming);
    return assuming;
  };
  return (role) => {
    const partner = role.trust === undefined ? undefined : snapshot.domain(role.trust);
    return [
      ...(entries.get(role.name) ?? []),
      ...assumedPaths(domain, role, places),
      ...(partner === undefined
        ? []
        : delegatedPaths(partner, fullRoleName(domain.name, role.name), assumingIn(partner), compared)),
    ];
  };
}

/** Entries of each role that list the principal. */
function entryPaths(
  snapshot: Snapshot,
  { name }: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): ReadonlyMap<RoleName, readonly RolePath[]> {
  const members = snapshot.members.get(name);
  if (members === undefined) return new Map();
  const found = [...memberPaths(members, principal, now), ...groupPaths(snapshot, members, principal, now)];
  const byRole = Map.groupBy(
    found.sort((a, b) => (a.entry < b.entry ? -1 : 1)),
    ({ role }) => role,
  );
  return new Map([...byRole].map(([role, paths]) => [role, paths.map(({ path }) => path)]));
}

interface EntryPath {
  readonly role: RoleName;
  readonly entry: string;
  readonly path: RolePath;
}

function* memberPaths(members: DomainMembers, principal: PrincipalName, now: number): Generator<EntryPath> {
  for (const { entry, roles } of coveringEntries(members, principal)) {
    for (const role of roles)
      yield { role: role.list, entry, path: { kind: 'member', entry, state: stateOf(role, now) } };
  }
}

function* groupPaths(
  snapshot: Snapshot,
  { groups, groupDomains }: DomainMembers,
  principal: PrincipalName,
  now: number,
): Generator<EntryPath> {
  const memberships = groupDomains.flatMap((owner) => snapshot.members.get(owner)?.groupMembers.get(principal) ?? []);
  for (const membership of memberships) {
    const group = membership.list;
    for (const role of groups.get(group) ?? []) {
      const own = stateOf(role, now);
      const state = own === 'counts' ? stateOf(membership, now) : own;
      yield { role: role.list, entry: group, path: { kind: 'group', group, state } };
    }
  }
}

function stateOf({ until }: Entry, now: number): EntryState {
  if (until > now) return 'counts';
  return until === Number.NEGATIVE_INFINITY ? 'disabled' : 'expired';
}

/** `places`: the roles of the domain that list the principal, in their order. */
function assumedPaths(domain: DomainSnapshot, role: RoleSnapshot, places: ReadonlyMap<RoleName, number>): RolePath[] {
  const placeOf = (from: RoleName) => places.get(from) ?? Number.POSITIVE_INFINITY;
  return [...new Set(domain.assumers.get(role.name))]
    .filter((from) => places.has(from))
    .sort((a, b) => placeOf(a) - placeOf(b))
    .map((from) => ({ kind: 'assumed', from }));
}

/** A role of a domain, and which roles its holders may assume. */
interface Assuming {
  readonly from: RoleName;
  readonly patterns: RolePatterns;
}

function assumingRoles({ assumable }: DomainSnapshot, direct: readonly RoleSnapshot[]): readonly Assuming[] {
  return direct.flatMap(({ name: from }) => {
    const patterns = assumable.get(from);
    return patterns === undefined ? [] : [{ from, patterns: new RolePatterns(patterns) }];
  });
}

/** Paths by a role of another domain. Patterns with too many wildcards to compare give none. */
function delegatedPaths(
  { name: domain }: DomainSnapshot,
  role: string,
  assuming: readonly Assuming[],
  compared: Explaining['compared'],
): RolePath[] {
  const work = new Work(maxPatternWork);
  const paths = assuming
    .filter(({ patterns }) => patterns.fits(role, false, work))
    .map(({ from }): RolePath => ({ kind: 'delegated', domain, from }));
  compared(work.spent + assuming.length);
  return paths;
}
