import type { PrincipalName, RoleName } from '@signet/policy-engine/names';
import { systemDomain } from '../management/rights.ts';
import { grantedRoles } from '../roles/granted-roles.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';

/**
 * Roles of `sys.auth` that a principal holds at `now` (milliseconds): their holders operate the system, or a part of
 * it.
 */
export function systemRolesOf(snapshot: Snapshot, principal: PrincipalName, now: number): readonly RoleName[] {
  const system = snapshot.domain(systemDomain);
  return system === undefined ? [] : grantedRoles(snapshot, system, principal, now).map(({ name }) => name);
}
