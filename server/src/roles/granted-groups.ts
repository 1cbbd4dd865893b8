import type { PrincipalName } from '@signet/policy-engine/names';
import { isLive } from '../snapshot/domain-members.ts';
import { type DomainSnapshot, holdsNothing, type Snapshot } from '../snapshot/snapshot.ts';
import type { Moment } from './granted-roles.ts';

/** The groups of a domain that a principal is in at a moment, by their short names, sorted. A service that is disabled or does not exist is in none. */
export function heldGroups(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  { now, onEnd }: Omit<Moment, 'compared'>,
): readonly string[] {
  if (holdsNothing(snapshot, principal)) return [];
  const entries = snapshot.members.get(domain.name)?.groupMembers.get(principal) ?? [];
  const start = `${domain.name}:group.`.length;
  return entries.flatMap((entry) => (isLive(entry, { now, onEnd }) ? [entry.list.slice(start)] : [])).sort();
}
