import { fullRoleName, type PrincipalName, type RoleName } from '@signet/policy-engine/names';
import { visitRoles } from '../snapshot/domain-members.ts';
import { type DomainSnapshot, principalState, type RoleSnapshot, type Snapshot } from '../snapshot/snapshot.ts';
import { RolePatterns } from './role-patterns.ts';

/**
 * The roles of `domain` that `principal` holds at `now` (milliseconds), sorted by name: as a direct member, through `*`, a prefix
 * or a group, through an `assume_role` assertion of the domain itself, and through roles that trust another domain. Names are
 * compared exactly (docs/reference/access-checks.md#who-holds-a-role). Every entry counts, so an expired one never hides a valid one. A
 * service that is disabled holds nothing. Tokens, certificates and access checks all ask here, so they cannot differ.
 */
export function grantedRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): readonly RoleSnapshot[] {
  if (principalState(snapshot, principal) === 'disabled') return [];
  const granted = listedRoles(snapshot, domain, principal, now);
  addOwnAssumedRoles(domain, granted);
  for (const role of delegatedRoles(snapshot, domain, principal, now)) granted.add(role);
  return granted.size < 2 ? [...granted] : [...granted].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The roles that list the principal, without delegation. */
export function directRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): readonly RoleSnapshot[] {
  if (principalState(snapshot, principal) === 'disabled') return [];
  return [...listedRoles(snapshot, domain, principal, now)];
}

function listedRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): Set<RoleSnapshot> {
  const roles = new Set<RoleSnapshot>();
  const members = snapshot.members.get(domain.name);
  if (members === undefined) return roles;
  const visit = (name: RoleName) => {
    const role = domain.roles.get(name);
    if (role !== undefined) roles.add(role);
  };
  visitRoles(members, (name) => snapshot.members.get(name), principal, { now, visit });
  return roles;
}

/** One hop only: a role gained here gives no further one. */
function addOwnAssumedRoles(domain: DomainSnapshot, granted: Set<RoleSnapshot>): void {
  if (domain.assumable.size === 0) return;
  const prefix = `${domain.name}:role.`;
  for (const held of [...granted]) {
    for (const target of domain.assumable.get(held.name) ?? []) {
      if (!target.startsWith(prefix)) continue;
      const role = domain.roles.get(target.slice(prefix.length) as RoleName);
      if (role !== undefined) granted.add(role);
    }
  }
}

/** What has too many wildcards to compare gives nothing: who asks for a token does not wait for the rules of the trusted domain. */
function delegatedRoles(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): readonly RoleSnapshot[] {
  const granted: RoleSnapshot[] = [];
  for (const [trusted, roles] of domain.trusting) {
    const partner = snapshot.domain(trusted);
    if (partner === undefined || partner.assumable.size === 0) continue;
    const held = listedRoles(snapshot, partner, principal, now);
    const assumable = [...held].flatMap((role) => partner.assumable.get(role.name) ?? []);
    if (assumable.length === 0) continue;
    const patterns = new RolePatterns(assumable);
    for (const name of roles) {
      const role = domain.roles.get(name);
      if (role !== undefined && patterns.fits(fullRoleName(domain.name, name), false)) granted.push(role);
    }
  }
  return granted;
}
