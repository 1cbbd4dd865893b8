import { type DomainName, fullRoleName, type PrincipalName, type RoleName } from '@signet/policy-engine/names';
import { type DomainSnapshot, principalState, type RoleSnapshot, type Snapshot } from '../snapshot/snapshot.ts';
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

export type EntryState = 'counts' | 'expired' | 'disabled';

export interface ExplainedRole {
  readonly role: RoleName;
  readonly held: boolean;
  readonly paths: readonly RolePath[];
}

/**
 * Every role of the domain that has something to do with the principal at `now` (milliseconds), with how. `held` agrees with
 * `grantedRoles`. Pure; looks at every member, so it is for people and not for every request.
 */
export function explainRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): ExplainedRole[] {
  const held = new Set(grantedRoles(snapshot, domain, principal, now).map((role) => role.name));
  const direct = directRoles(snapshot, domain, principal, now);
  return [...domain.roles.values()]
    .map((role) => ({
      role: role.name,
      held: held.has(role.name),
      paths: [
        ...entryPaths(snapshot, role, principal, now),
        ...assumedPaths(domain, role, direct),
        ...delegatedPaths(snapshot, domain, role, principal, now),
      ],
    }))
    .filter(({ held, paths }) => held || paths.length > 0)
    .sort((a, b) => (a.role < b.role ? -1 : 1));
}

/** Why a principal holds nothing anywhere, whatever names it. */
export function isSwitchedOff(snapshot: Snapshot, principal: PrincipalName): boolean {
  return principalState(snapshot, principal) === 'disabled';
}

function entryPaths(snapshot: Snapshot, role: RoleSnapshot, principal: PrincipalName, now: number): RolePath[] {
  return [...role.members].flatMap((member): RolePath[] => {
    const { name } = member;
    const state = stateOf(member, now);
    if (!name.includes(':')) {
      const fits = name.endsWith('*') ? principal.startsWith(name.slice(0, -1)) : name === principal;
      return fits ? [{ kind: 'member', entry: name, state }] : [];
    }
    // Only looked up: a text that is not a domain name finds none.
    const owner = snapshot.domain(name.slice(0, name.indexOf(':')) as DomainName);
    const membership = owner?.membership.groupMembers.get(principal)?.find(({ group }) => group === name);
    if (membership === undefined) return [];
    const inGroup = stateOf({ disabled: false, ...membership }, now);
    return [{ kind: 'group', group: name, state: state === 'counts' ? inGroup : state }];
  });
}

function stateOf(entry: { readonly disabled: boolean; readonly expires?: number }, now: number): EntryState {
  if (entry.disabled) return 'disabled';
  return entry.expires !== undefined && entry.expires <= now ? 'expired' : 'counts';
}

function assumedPaths(domain: DomainSnapshot, role: RoleSnapshot, direct: readonly RoleSnapshot[]): RolePath[] {
  const name = fullRoleName(domain.name, role.name);
  return direct
    .filter(({ name: from }) => domain.membership.assumable.get(from)?.includes(name) === true)
    .map(({ name: from }) => ({ kind: 'assumed', from }));
}

function delegatedPaths(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  role: RoleSnapshot,
  principal: PrincipalName,
  now: number,
): RolePath[] {
  const partner = role.trust === undefined ? undefined : snapshot.domain(role.trust);
  if (partner === undefined) return [];
  const name = fullRoleName(domain.name, role.name);
  return directRoles(snapshot, partner, principal, now)
    .filter(({ name: from }) => new RolePatterns(partner.membership.assumable.get(from) ?? []).fits(name, false))
    .map(({ name: from }) => ({ kind: 'delegated', domain: partner.name, from }));
}
