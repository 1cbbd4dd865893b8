import { type DomainName, fullRoleName, type PrincipalName, type RoleName } from '@signet/policy-engine/names';
import { coveringEntries, type DomainMembers, type Entry } from '../snapshot/domain-members.ts';
import { type DomainSnapshot, principalState, type RoleSnapshot, type Snapshot } from '../snapshot/snapshot.ts';
import type { Steps } from '../steps/steps.ts';
import { directRoles, grantedRoles } from './granted-roles.ts';
import { RolePatterns } from './role-patterns.ts';

/** How a principal comes to a role, or why an entry that names it does not count. */
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

/**
 * Every role of the domain that has something to do with the principal at `now` (milliseconds), with how. `held` agrees with
 * `grantedRoles`. Pure.
 */
export function explainRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): ExplainedRole[] {
  const held = new Set(grantedRoles(snapshot, domain, principal, now).map((role) => role.name));
  const pathsOf = rolePaths(snapshot, domain, principal, now);
  return [...domain.roles.values()]
    .map((role) => ({ role: role.name, held: held.has(role.name), paths: pathsOf(role) }))
    .filter(({ held, paths }) => held || paths.length > 0)
    .sort((a, b) => (a.role < b.role ? -1 : 1));
}

/** Those that are held, without a look at the others. Pure. */
export function* explainHeldRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): Steps<ExplainedRole[]> {
  const held = grantedRoles(snapshot, domain, principal, now);
  // Most principals hold nothing in most domains.
  if (held.length === 0) return [];
  const pathsOf = rolePaths(snapshot, domain, principal, now);
  const explained: ExplainedRole[] = [];
  for (const role of held) {
    yield;
    explained.push({ role: role.name, held: true, paths: pathsOf(role) });
  }
  return explained;
}

/** The ways of the principal into a role of the domain. */
function rolePaths(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): (role: RoleSnapshot) => readonly RolePath[] {
  const known = new Map<DomainSnapshot, readonly RoleSnapshot[]>();
  const directIn = (where: DomainSnapshot) => {
    const direct = known.get(where) ?? directRoles(snapshot, where, principal, now);
    known.set(where, direct);
    return direct;
  };
  const direct = directIn(domain);
  const entries = entryPaths(snapshot, domain, principal, now);
  return (role) => [
    ...(entries.get(role.name) ?? []),
    ...assumedPaths(domain, role, direct),
    ...delegatedPaths(snapshot, domain, role, directIn),
  ];
}

/** Why a principal holds nothing anywhere, whatever names it. */
export function isSwitchedOff(snapshot: Snapshot, principal: PrincipalName): boolean {
  return principalState(snapshot, principal) === 'disabled';
}

/** How each role lists the principal, by what the entry says. */
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

function assumedPaths(domain: DomainSnapshot, role: RoleSnapshot, direct: readonly RoleSnapshot[]): RolePath[] {
  const name = fullRoleName(domain.name, role.name);
  return direct
    .filter(({ name: from }) => domain.assumable.get(from)?.includes(name) === true)
    .map(({ name: from }) => ({ kind: 'assumed', from }));
}

/** `directIn`: the roles of a domain that list the principal. */
function delegatedPaths(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  role: RoleSnapshot,
  directIn: (where: DomainSnapshot) => readonly RoleSnapshot[],
): RolePath[] {
  const partner = role.trust === undefined ? undefined : snapshot.domain(role.trust);
  if (partner === undefined) return [];
  const name = fullRoleName(domain.name, role.name);
  return directIn(partner)
    .filter(({ name: from }) => new RolePatterns(partner.assumable.get(from) ?? []).fits(name, false))
    .map(({ name: from }) => ({ kind: 'delegated', domain: partner.name, from }));
}
