import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { DomainName } from '@signet/policy-engine/names';
import { PatternsTooComplexError } from '../impact/atoms.ts';
import { foldedImpactInSteps, type Viewer } from '../impact/fold.ts';
import { usualBounds, Work } from '../impact/work.ts';
import type { MovedDomain } from '../model/domain-change.ts';
import type { DomainRecord } from '../model/records.ts';
import type { StoreReader, StoreState } from '../model/store.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { OnProgress } from '../steps/progress.ts';
import type { Steps } from '../steps/steps.ts';
import { affectedDomains } from './affected-domains.ts';
import { asRecord } from './check-documents.ts';
import type { Effect } from './effect-digest.ts';
import { describeChanges, type ObjectChange } from './object-changes.ts';
import { basisOf, type PlanBasis } from './plan-basis.ts';
import { planTotals } from './plan-totals.ts';
import { comparable, snapshotOf, withNeeded } from './stored-world.ts';

/** Both sides of a change, as of one instant of the store. */
export interface Sides {
  readonly state: StoreState;
  readonly moved: readonly MovedDomain[];
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly basis: PlanBasis;
}

/** The part of the store that decides about a change, before and after it. `known` are domains that were read already. */
export async function readSides(
  reader: StoreReader,
  moved: readonly MovedDomain[],
  known: ReadonlyMap<DomainName, DomainRecord>,
  now: number,
): Promise<Sides> {
  const affected = await affectedDomains(
    reader,
    moved.map(({ change }) => change),
  );
  const domains = await withNeeded(reader, known, affected);
  const switchedOff = await reader.switchedOff();
  const state = reader.state();
  const before = snapshotOf({ domains, switchedOff });
  const { snapshot: after } = compileSnapshot(before, {
    state,
    since: before,
    domains: moved.flatMap((one) => comparable(one.after, one.before)).map((content) => asRecord(content, now)),
    deleted: [],
    signingKeys: [],
  });
  return { state, moved, before, after, basis: basisOf(state, moved, { domains, affected, switchedOff }) };
}

interface Telling {
  readonly now: number;
  readonly onProgress?: OnProgress;
  /** Changes in place of those of the domains' objects. */
  readonly changes?: readonly ObjectChange[];
}

/** Objects that change, and whose access, as far as the viewer may know. */
export async function effectOf(
  { moved, before, after }: Sides,
  viewer: Viewer,
  { now, onProgress, changes = moved.flatMap(({ change }) => describeChanges(change)) }: Telling,
): Promise<Omit<Effect, 'refusals'>> {
  const comparison = {
    before,
    after,
    now,
    work: new Work(usualBounds),
    ...(onProgress !== undefined && { onProgress }),
  };
  const own = new Set(moved.map(({ change }) => change.name));
  const impact = await unlessEntangled(foldedImpactInSteps(comparison, own, viewer));
  return {
    changes,
    totals: planTotals(changes, impact?.changes, impact?.totals),
    ...(impact !== undefined && { impact: impact.changes }),
    ...(impact?.totals !== undefined && { impactTotals: impact.totals }),
  };
}

/** Runs an analysis of patterns; undefined where they are too entangled for it. */
export async function unlessEntangled<Result>(steps: Steps<Result>): Promise<Result | undefined> {
  try {
    return await runInSlices(steps);
  } catch (error) {
    if (error instanceof PatternsTooComplexError) return undefined;
    throw error;
  }
}
