import type { DomainName } from '@signet/policy-engine/names';
import { type DocumentProblem, PolicyTestsFailedError } from '../errors.ts';
import { isEmpty } from '../model/domain-change.ts';
import type { Store, StoreReader } from '../model/store.ts';
import type { OnProgress } from '../steps/progress.ts';
import { approvalWarnings } from './approval-warnings.ts';
import { type DocumentChange, leftBy } from './document-refusals.ts';
import { placeOf } from './documents/places.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import { askedByDocuments, type Effect, effectDigest } from './effect-digest.ts';
import { effectOf, readSides } from './find-effect.ts';
import { type AuthorRights, type JudgingOptions, judgeDocuments } from './judge-documents.ts';
import type { PlanBasis } from './plan-basis.ts';
import { approvalsOf, neededForAll } from './requests/needed.ts';

/** Changes of objects that a plan lists; the others are counted. */
const maxListedChanges = 10_000;
/** Problems and warnings that are listed, of each kind. */
export const maxListedProblems = 1000;

/** Effect of documents as their author may know it, and what else to look at before they are applied. */
export interface Plan extends Effect {
  /** Digest of the effect: an apply with it is refused where the effect is another one. */
  readonly digest: string;
  /** Epoch and counter of the state of the store that the plan was made on. */
  readonly change: readonly [epoch: number, counter: number];
  /** How many changes there are, where a response lists not all of them. */
  readonly changesTotal?: number;
  /** Approvals that the changes of domains need; absent if none. */
  readonly needs?: Readonly<Record<DomainName, number>>;
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
  const { judged, needs, approvals, sides } = await store.view((reader) => readPlan(reader, folder, now, rules));
  const found = await effectOf(sides, judged.rights, { now, ...(onProgress !== undefined && { onProgress }) });
  const effect: Effect = { ...found, refusals: judged.refusals };
  const { state, moved, basis } = sides;
  const plan = {
    digest: effectDigest(askedByDocuments(folder, rules), effect, state),
    change: [state.epoch, state.counter] as const,
    ...effect,
    ...(needs.size > 0 && { needs: approvalsOf(needs) }),
    casesPassed: judged.cases.passed,
    warnings: [...judged.warnings, ...missingReasons(moved), ...approvals],
  };
  return { plan, basis };
}

/** The part of the store that decides about the documents, and how they change it. */
async function readPlan(reader: StoreReader, folder: DocumentFolder, now: number, rules: JudgingOptions) {
  const judged = await judgeDocuments(reader, folder, now, rules);
  if (judged.cases.failures.length > 0) throw new PolicyTestsFailedError(judged.cases.failures);
  const moved = judged.changes.filter(({ change }) => !isEmpty(change));
  const needs = await neededForAll(moved, reader);
  const approvals = await raisedProblems(reader, moved, judged.rights);
  const sides = await readSides(reader, moved, judged.domains, now);
  return { judged, needs, approvals, sides: { ...sides, moved } };
}

/** Domains that want to know why: an apply without a reason is refused. */
function missingReasons(moved: readonly DocumentChange[]): DocumentProblem[] {
  return moved
    .filter(({ before }) => before?.requireReason === true)
    .map(({ document: { source } }) => source.problem(['domain'], 'the domain asks for a reason: apply with --reason'));
}

/** Warnings about approvals that documents raise; `strict` refuses none of them. */
async function raisedProblems(
  reader: StoreReader,
  moved: readonly DocumentChange[],
  { sees }: AuthorRights,
): Promise<DocumentProblem[]> {
  const after = leftBy(moved, reader);
  const problems: DocumentProblem[] = [];
  for (const { document, change } of moved) {
    const { source } = document;
    const warnings = await approvalWarnings(change, { after, sees });
    problems.push(...warnings.map(({ message, path }) => source.problem(placeOf(source.value, path), message)));
  }
  return problems;
}

/** The plan with as many of its changes and problems as a response lists. */
export function listedPlan({ changes, warnings, refusals, ...plan }: Plan): Plan {
  const listed = changes.slice(0, maxListedChanges);
  return {
    ...plan,
    changes: listed,
    ...(listed.length < changes.length && { changesTotal: changes.length }),
    warnings: warnings.slice(0, maxListedProblems),
    refusals: refusals.slice(0, maxListedProblems),
  };
}
