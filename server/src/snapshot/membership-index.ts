import type { DomainName, PrincipalName, RoleName } from '@signet/policy-engine/names';
import { LayeredMap } from './layered-map.ts';
import type { Member, RoleSnapshot } from './role-snapshot.ts';
import { type Steps, sliceLength } from './steps.ts';

/** That a role is held, until `expires` (milliseconds since the epoch; absent: without end). */
export interface Grant {
  readonly role: RoleName;
  readonly expires?: number;
}

/** That a principal is in a group `domain:group.name`. */
export interface GroupGrant {
  readonly group: string;
  readonly expires?: number;
}

/**
 * Who is in which role of one domain, arranged so that a look-up costs a few map look-ups however many members there are.
 * Disabled entries are left out when it is built; expiry is looked at when it is asked.
 */
export interface MembershipIndex {
  /** Roles by the exact name of a member. */
  readonly members: ReadonlyMap<string, readonly Grant[]>;
  /** Roles with the member `*`. */
  readonly everyone: readonly Grant[];
  /** Roles by the text before the `*` of a member such as `media.*`. */
  readonly prefixes: ReadonlyMap<string, readonly Grant[]>;
  /** The lengths that occur in `prefixes`, ascending. */
  readonly prefixLengths: readonly number[];
  /** Roles by the full name of a group that is a member. */
  readonly groupRoles: ReadonlyMap<string, readonly Grant[]>;
  /** The domains whose groups occur in `groupRoles`. */
  readonly groupDomains: readonly DomainName[];
  /** The groups of this domain by the exact name of a member. */
  readonly groupMembers: ReadonlyMap<string, readonly GroupGrant[]>;
  /** What holders of a role may assume: full role names or patterns of the active `assume_role` assertions that are not DENY. */
  readonly assumable: ReadonlyMap<RoleName, readonly string[]>;
  /** The roles of this domain that trust another one, by that domain. */
  readonly trusting: ReadonlyMap<DomainName, readonly RoleName[]>;
}

export interface MembershipInput {
  readonly roles: readonly RoleSnapshot[];
  /** Group members by the full name of the group. */
  readonly groups: ReadonlyMap<string, readonly Member[]>;
  readonly assumable: ReadonlyMap<RoleName, readonly string[]>;
}

function add<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}

/** Builds the index of one domain. Pure. */
export function* indexInSteps(input: MembershipInput): Steps<MembershipIndex> {
  const entries: RoleEntries = { members: new Map(), everyone: [], prefixes: new Map(), groupRoles: new Map() };
  const trusting = new Map<DomainName, RoleName[]>();
  for (const role of input.roles) {
    if (role.trust !== undefined) add(trusting, role.trust, role.name);
    yield* addMembers(entries, role);
  }
  return {
    members: LayeredMap.of(entries.members),
    everyone: entries.everyone,
    prefixes: LayeredMap.of(entries.prefixes),
    groupRoles: LayeredMap.of(entries.groupRoles),
    ...summaryOf(entries),
    groupMembers: LayeredMap.of(yield* indexGroups(input.groups)),
    assumable: input.assumable,
    trusting,
  };
}

/**
 * The index of a domain after a change of a few members. `excerpt` has the domain's roles and groups with exactly those of their members
 * that are called one of `names`; the other members are those of `previous`. Costs what changes. Pure.
 */
export function* patchIndexInSteps(
  previous: MembershipIndex,
  excerpt: MembershipInput,
  names: readonly string[],
): Steps<MembershipIndex> {
  const fresh = yield* indexInSteps(excerpt);
  const starred = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  const prefixes = patched(previous.prefixes, fresh.prefixes, starred);
  const groupRoles = patched(previous.groupRoles, fresh.groupRoles, names);
  const isSame = prefixes === previous.prefixes && groupRoles === previous.groupRoles;
  return {
    members: patched(previous.members, fresh.members, names),
    everyone: starred.includes('') ? fresh.everyone : previous.everyone,
    prefixes,
    groupRoles,
    ...(isSame
      ? { prefixLengths: previous.prefixLengths, groupDomains: previous.groupDomains }
      : summaryOf({ prefixes, groupRoles })),
    groupMembers: patched(previous.groupMembers, fresh.groupMembers, names),
    assumable: fresh.assumable,
    trusting: fresh.trusting,
  };
}

function patched<Value extends object>(
  previous: ReadonlyMap<string, Value>,
  fresh: ReadonlyMap<string, Value>,
  names: readonly string[],
): ReadonlyMap<string, Value> {
  return LayeredMap.of(previous).with(names.map((name) => [name, fresh.get(name)] as const));
}

interface RoleEntries {
  readonly members: Map<string, Grant[]>;
  readonly everyone: Grant[];
  readonly prefixes: Map<string, Grant[]>;
  readonly groupRoles: Map<string, Grant[]>;
}

function summaryOf({ prefixes, groupRoles }: Pick<MembershipIndex, 'prefixes' | 'groupRoles'>) {
  return {
    prefixLengths: [...new Set(Array.from(prefixes.keys(), (prefix) => prefix.length))].sort((a, b) => a - b),
    groupDomains: [...new Set(Array.from(groupRoles.keys(), groupDomain))],
  };
}

function* addMembers(entries: RoleEntries, role: RoleSnapshot): Steps<void> {
  // Members without an end share one grant: a role may have a hundred thousand of them.
  const lasting: Grant = { role: role.name };
  let count = 0;
  for (const member of role.members) {
    count += 1;
    if (count % sliceLength === 0) yield;
    if (member.disabled) continue;
    const grant = member.expires === undefined ? lasting : { role: role.name, expires: member.expires };
    if (member.name === '*') entries.everyone.push(grant);
    else if (member.name.endsWith('*')) add(entries.prefixes, member.name.slice(0, -1), grant);
    else if (member.name.includes(':')) add(entries.groupRoles, member.name, grant);
    else add(entries.members, member.name, grant);
  }
}

function groupDomain(group: string): DomainName {
  return group.slice(0, group.indexOf(':')) as DomainName;
}

function* indexGroups(groups: ReadonlyMap<string, readonly Member[]>): Steps<Map<string, GroupGrant[]>> {
  const index = new Map<string, GroupGrant[]>();
  for (const [group, members] of groups) {
    const lasting: GroupGrant = { group };
    for (const [count, member] of members.entries()) {
      if (count % sliceLength === 0) yield;
      if (member.disabled) continue;
      add(index, member.name, member.expires === undefined ? lasting : { group, expires: member.expires });
    }
  }
  return index;
}

/** Calls `visit` for every grant that holds for the principal at `now`: by name, `*`, prefix or group (facts of role look-up, step 1). */
export function visitGrants(
  index: MembershipIndex,
  groupIndexOf: (domain: DomainName) => MembershipIndex | undefined,
  principal: PrincipalName,
  now: number,
  visit: (role: RoleName) => void,
): void {
  visitLive(index.members.get(principal), now, visit);
  visitLive(index.everyone, now, visit);
  for (const length of index.prefixLengths) {
    if (length > principal.length) break;
    visitLive(index.prefixes.get(principal.slice(0, length)), now, visit);
  }
  for (const domain of index.groupDomains) {
    for (const membership of groupIndexOf(domain)?.groupMembers.get(principal) ?? []) {
      if (isLive(membership, now)) visitLive(index.groupRoles.get(membership.group), now, visit);
    }
  }
}

function visitLive(grants: readonly Grant[] | undefined, now: number, visit: (role: RoleName) => void): void {
  if (grants === undefined) return;
  for (const grant of grants) if (isLive(grant, now)) visit(grant.role);
}

function isLive(grant: { readonly expires?: number }, now: number): boolean {
  return grant.expires === undefined || grant.expires > now;
}
