import { runInSlices } from '@signet/policy-engine/internal/slices';
import { type DocumentProblem, PolicyTestsFailedError } from '../errors.ts';
import { PatternsTooComplexError } from '../impact/atoms.ts';
import { foldedImpactInSteps } from '../impact/fold.ts';
import { usualBounds, Work } from '../impact/work.ts';
import { isEmpty } from '../model/domain-change.ts';
import type { Store, StoreReader } from '../model/store.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { OnProgress } from '../steps/progress.ts';
import type { Steps } from '../steps/steps.ts';
import { affectedDomains } from './affected-domains.ts';
import { asRecord } from './check-documents.ts';
import type { DocumentChange } from './document-refusals.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import { type Effect, effectDigest } from './effect-digest.ts';
import { type JudgingOptions, judgeDocuments } from './judge-documents.ts';
import { describeChanges } from './object-changes.ts';
import { basisOf, type PlanBasis } from './plan-basis.ts';
import { planTotals } from './plan-totals.ts';
import { comparable, snapshotOf, withNeeded } from './stored-world.ts';

/** Effect of documents as their author may know it, and what else to look at before they are applied. */
export interface Plan extends Effect {
  /** Digest of the effect: an apply with it is refused where the effect is another one. */
  readonly digest: string;
  /** Epoch and counter of the state of the store that the plan was made on. */
  readonly change: readonly [epoch: number, counter: number];
  /** How many changes there are, where a response lists not all of them. */
  readonly changesTotal?: number;
  readonly casesPassed: number;
  readonly warnings: readonly DocumentProblem[];
}

interface PlanOptions extends JudgingOptions {
  readonly onProgress?: OnProgress;
}

/** A plan, and what it was made on. */
interface MadePlan {
  readonly plan: Plan;
  readonly basis: PlanBasis;
}

/**
 * Compares the documents with the store as of one instant: which objects would be created, changed and deleted, and whose access
 * changes. Reads only the domains that the documents have to do with. Changes nothing. Throws `InvalidDocumentError` for documents that
 * are wrong or whose cases fail, `ForbiddenError`; what the rules refuse is in the plan.
 */
export async function planDocuments(
  store: Pick<Store, 'view'>,
  folder: DocumentFolder,
  now: number,
  options: PlanOptions = {},
): Promise<Plan> {
  return (await makePlan(store, folder, now, options)).plan;
}

export async function makePlan(
  store: Pick<Store, 'view'>,
  folder: DocumentFolder,
  now: number,
  { onProgress, ...rules }: PlanOptions,
): Promise<MadePlan> {
  const { state, judged, moved, before, basis } = await store.view((reader) => readSides(reader, folder, now, rules));
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
  const own = new Set(moved.map(({ change }) => change.name));
  const impact = await unlessEntangled(foldedImpactInSteps(comparison, own, judged.rights));
  const changes = moved.flatMap(({ change }) => describeChanges(change));
  const effect: Effect = {
    changes,
    totals: planTotals(changes, impact?.changes, impact?.totals),
    ...(impact !== undefined && { impact: impact.changes }),
    ...(impact?.totals !== undefined && { impactTotals: impact.totals }),
    refusals: judged.refusals,
  };
  const plan = {
    digest: effectDigest(folder, rules, effect, state),
    change: [state.epoch, state.counter] as const,
    ...effect,
    casesPassed: judged.cases.passed,
    warnings: [...judged.warnings, ...missingReasons(moved)],
  };
  return { plan, basis };
}

/** The part of the store that decides about the documents, and how they change it. */
async function readSides(reader: StoreReader, folder: DocumentFolder, now: number, rules: JudgingOptions) {
  const judged = await judgeDocuments(reader, folder, now, rules);
  if (judged.cases.failures.length > 0) throw new PolicyTestsFailedError(judged.cases.failures);
  const moved = judged.changes.filter(({ change }) => !isEmpty(change));
  const affected = await affectedDomains(
    reader,
    moved.map(({ change }) => change),
  );
  const domains = await withNeeded(reader, judged.domains, affected);
  const switchedOff = await reader.switchedOff();
  const state = reader.state();
  return {
    state,
    judged,
    moved,
    before: snapshotOf({ domains, switchedOff }),
    basis: basisOf(state, moved, { domains, affected, switchedOff }),
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
