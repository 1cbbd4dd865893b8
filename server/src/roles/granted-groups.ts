import type { PrincipalName } from '@signet/policy-engine/names';
import { type DomainSnapshot, holdsNothing, type Snapshot } from '../snapshot/snapshot.ts';

/** The groups of a domain that a principal is in at `now` (milliseconds), by their short names, sorted. A service that is disabled or does not exist is in none. */
export function heldGroups(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  now: number,
): readonly string[] {
  if (holdsNothing(snapshot, principal)) return [];
  const entries = snapshot.members.get(domain.name)?.groupMembers.get(principal) ?? [];
  const start = `${domain.name}:group.`.length;
  return entries.flatMap(({ list, until }) => (until > now ? [list.slice(start)] : [])).sort();
}
