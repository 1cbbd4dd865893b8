import type { SnapshotAt } from '../snapshot/live-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { RecordingConditions } from './certificate-store.ts';

/** What it takes to decide on a right now, and again when what it gives is recorded. */
export interface DecideAgainDeps {
  readonly snapshot: () => Snapshot;
  readonly snapshotAt: SnapshotAt;
}

/**
 * Puts the question that was decided before a certificate was signed to the store again, in the transaction that records it. `decide`
 * throws when the right is not there.
 */
export function decidedAgain(
  { snapshotAt }: Pick<DecideAgainDeps, 'snapshotAt'>,
  presented: string | undefined,
  decide: (snapshot: Snapshot) => unknown,
): RecordingConditions {
  return { presented, decide: async (source) => decide(await snapshotAt(source)) };
}
