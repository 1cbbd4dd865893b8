import type { PrincipalName } from '@signet/policy-engine/names';
import { type DomainSnapshot, principalState, type Snapshot } from '../snapshot/snapshot.ts';

/** The groups of a domain that a principal is in at `now` (milliseconds), by their short names, sorted. A disabled service is in none. */
export function heldGroups(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): readonly string[] {
  if (principalState(snapshot, principal) === 'disabled') return [];
  const entries = snapshot.members.get(domain.name)?.groupMembers.get(principal) ?? [];
  const start = `${domain.name}:group.`.length;
  return entries.flatMap(({ list, until }) => (until > now ? [list.slice(start)] : [])).sort();
}
