import type { PrincipalName } from '@signet/policy-engine/names';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { grantsExactly } from './exact-access.ts';

/** Actions by which a principal changes a protected domain without approval; granted by their exact names alone. */
export const reviewedActions = ['apply_reviewed', 'break_glass'] as const;

/** True if a principal may change some protected domain without approval: who becomes it may do so, too. */
export function actsAlone(snapshot: Snapshot, principal: PrincipalName, now: number): boolean {
  const holds = (domain: DomainSnapshot) =>
    reviewedActions.some((action) =>
      grantsExactly(snapshot, { principal, action, domain: domain.name, object: 'domain' }, now, () => undefined),
    );
  for (const domain of snapshot.domains.values()) if (isProtected(domain) && holds(domain)) return true;
  return false;
}

function isProtected({ approvals, roles }: DomainSnapshot): boolean {
  if (approvals !== undefined) return true;
  for (const role of roles.values()) if (role.approvals !== undefined) return true;
  return false;
}
