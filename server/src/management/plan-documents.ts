import { runInSlices } from '@signet/policy-engine/internal/slices';
import { type DocumentProblem, InvalidDocumentError } from '../errors.ts';
import { PatternsTooComplexError } from '../impact/atoms.ts';
import { type AccessChange, type ImpactTotals, impactWithin, touchedDomains } from '../impact/impact.ts';
import { usualBounds, Work } from '../impact/work.ts';
import { isEmpty } from '../model/domain-change.ts';
import type { Store, StoreState } from '../model/store.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { OnProgress } from '../steps/progress.ts';
import type { Steps } from '../steps/steps.ts';
import { affectedDomains } from './affected-domains.ts';
import { asRecord, checkDocuments } from './check-documents.ts';
import {
  type DocumentChange,
  type DocumentRules,
  findElsewhere,
  findRefusals,
  refusedWarnings,
} from './document-refusals.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import { describeChanges, type ObjectChange } from './object-changes.ts';
import { type PlanTotals, planTotals } from './plan-totals.ts';
import { runCases } from './run-cases.ts';
import { comparable, readWorld, snapshotOf, withNeeded } from './stored-world.ts';

/** Effect of documents on a store, and on access. */
export interface Plan {
  /** The store that the plan was made for: `signet apply --plan` refuses any other. */
  readonly state: StoreState;
  readonly changes: readonly ObjectChange[];
  /** Impact; absent when the patterns are too complex to tell. */
  readonly impact?: readonly AccessChange[];
  /** Totals of the impact; present when it is too large to list. */
  readonly impactTotals?: ImpactTotals;
  readonly totals: PlanTotals;
  readonly casesPassed: number;
  readonly warnings: readonly DocumentProblem[];
  /** Reasons why `signet apply` with the same rules would refuse the documents; empty if none. */
  readonly refusals: readonly DocumentProblem[];
}

interface PlanOptions extends DocumentRules {
  readonly onProgress?: OnProgress;
}

/**
 * Compares the documents with the store as of one instant: which objects would be created, changed and deleted, and whose access
 * changes. Reads only the domains that the documents have to do with. Changes nothing. Throws `InvalidDocumentError` for documents that
 * are wrong or whose cases fail; what the rules refuse is in the plan.
 */
export async function planDocuments(
  store: Pick<Store, 'view'>,
  folder: DocumentFolder,
  now: number,
  { onProgress, ...rules }: PlanOptions = {},
): Promise<Plan> {
  const { state, moved, warnings, refusals, casesPassed, before } = await store.view(async (reader) => {
    const world = await readWorld(reader, folder);
    const { snapshot, changes, warnings } = checkDocuments(folder.documents, world, now, folder.cases);
    const { passed, failures } = runCases(snapshot, folder.cases, now);
    if (failures.length > 0) throw new InvalidDocumentError(failures);
    const moved = changes.filter(({ change }) => !isEmpty(change));
    const elsewhere = await findElsewhere(reader, changes, rules);
    const mistakes = [...warnings, ...missingReasons(moved)];
    const refused = new Set(refusedWarnings(mistakes, elsewhere, rules));
    return {
      state: reader.state(),
      moved,
      warnings: [...mistakes, ...elsewhere].filter((warning) => !refused.has(warning)),
      refusals: [...(await findRefusals(reader, changes, rules, now)), ...refused],
      casesPassed: passed,
      before: snapshotOf({
        ...world,
        domains: await withNeeded(
          reader,
          world.domains,
          await affectedDomains(
            reader,
            moved.map(({ change }) => change),
          ),
        ),
      }),
    };
  });
  const { snapshot: after } = compileSnapshot(before, {
    state,
    since: before,
    domains: moved
      .flatMap((change) => comparable(change.after, change.before))
      .map((content) => asRecord(content, now)),
    deleted: [],
    signingKeys: [],
  });
  const comparison = {
    before,
    after,
    now,
    work: new Work(usualBounds),
    ...(onProgress !== undefined && { onProgress }),
  };
  const impact = await unlessEntangled(impactWithin(touchedDomains(before, after), comparison));
  const changes = moved.flatMap(({ change }) => describeChanges(change));
  return {
    state,
    changes,
    totals: planTotals(changes, impact?.changes, impact?.totals),
    ...(impact !== undefined && { impact: impact.changes }),
    ...(impact?.totals !== undefined && { impactTotals: impact.totals }),
    casesPassed,
    warnings,
    refusals,
  };
}

/** Domains that want to know why: an apply without a reason is refused. */
function missingReasons(moved: readonly DocumentChange[]): DocumentProblem[] {
  return moved
    .filter(({ before }) => before?.requireReason === true)
    .map(({ document: { source } }) => source.problem(['domain'], 'the domain asks for a reason: apply with --reason'));
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
