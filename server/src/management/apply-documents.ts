import type { DomainName } from '@signet/policy-engine/names';
import {
  type DocumentProblem,
  InvalidDocumentError,
  PolicyTestsFailedError,
  PreconditionFailedError,
} from '../errors.ts';
import { isEmpty } from '../model/domain-change.ts';
import type { ChangeContext } from '../model/records.ts';
import { isSameState } from '../model/snapshot-source.ts';
import type { SaveOutcome, Store } from '../model/store.ts';
import type { OnProgress } from '../steps/progress.ts';
import { checkDocuments } from './check-documents.ts';
import { type DocumentRules, findElsewhere, findRefusals, refusedWarnings } from './document-refusals.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import { lostNames, removeMemberships } from './name-safeguards.ts';
import type { PlannedState } from './plan-file.ts';
import { requireReason } from './require-reason.ts';
import { runCases } from './run-cases.ts';
import { readWorld } from './stored-world.ts';

interface AppliedDomain {
  readonly name: DomainName;
  readonly outcome: SaveOutcome['kind'];
  readonly version: number;
}

export interface ApplySummary {
  readonly domains: readonly AppliedDomain[];
  readonly casesPassed: number;
  /** Warnings for the author about what was applied. */
  readonly warnings: readonly DocumentProblem[];
}

export interface ApplyOptions extends DocumentRules {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The state that the store must still have. */
  readonly planned?: PlannedState;
  readonly onProgress?: OnProgress;
}

/**
 * Applies documents: their domains become exactly what they state, in one transaction: references and the rules of the management API are
 * checked, the cases run on the result, and only then something is written. Domains without a document stay as they are, public keys and the
 * endpoint of services whose document names none too: the owners of a service register them. Throws `InvalidDocumentError` with every problem
 * and every failing case, `PreconditionFailedError` when the store is no longer in the `planned` state, `InvalidRequestError` when a domain asks
 * for a reason; then nothing has changed.
 */
export function applyDocuments(
  store: Store,
  folder: DocumentFolder,
  context: ChangeContext,
  options: ApplyOptions,
): Promise<ApplySummary> {
  const { now } = options;
  return store.change(context, async (transaction) => {
    if (options.planned !== undefined) requireUnmoved(transaction.state(), options.planned);
    const world = await readWorld(transaction, folder);
    const { snapshot, changes, warnings } = checkDocuments(folder.documents, world, now, folder.cases);
    const elsewhere = await findElsewhere(transaction, changes, options);
    const refusals = [
      ...(await findRefusals(transaction, changes, options, now)),
      ...refusedWarnings(warnings, elsewhere, options),
    ];
    if (refusals.length > 0) throw new InvalidDocumentError(refusals);
    const { passed, failures } = runCases(snapshot, folder.cases, now);
    if (failures.length > 0) throw new PolicyTestsFailedError(failures);
    const domains: AppliedDomain[] = [];
    for (const { before, change } of changes) {
      if (before !== undefined && !isEmpty(change)) requireReason(before, context);
      const { kind, version } = await transaction.save(change);
      domains.push({ name: change.name, outcome: kind, version });
      options.onProgress?.('saving domains', domains.length, changes.length);
    }
    if (options.removeMemberships === true) {
      await removeMemberships(
        transaction,
        changes.flatMap(({ change }) => lostNames(change)),
      );
    }
    return { domains, casesPassed: passed, warnings: [...warnings, ...elsewhere] };
  });
}

function requireUnmoved(state: PlannedState, planned: PlannedState): void {
  if (isSameState(state, planned)) return;
  throw new PreconditionFailedError('the store changed since the plan: plan again');
}
