import type { DomainName } from '@signet/policy-engine/names';
import { type DocumentProblem, InvalidDocumentError } from '../errors.ts';
import { PatternsTooComplexError } from '../impact/atoms.ts';
import { type AccessChange, impactOf } from '../impact/impact.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { diffDomains } from '../store/diff-domains.ts';
import type { DomainRecord } from '../store/records.ts';
import type { SnapshotSource, StoreState } from '../store/store.ts';
import { asRecord, checkDocuments } from './apply-documents.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import { describeChanges, type ObjectChange } from './object-changes.ts';
import { runCases } from './run-cases.ts';

/** What documents would do to a store, and what that does to access. */
export interface Plan {
  /** The store that the plan was made for: `signet apply --plan` refuses any other. */
  readonly state: StoreState;
  readonly changes: readonly ObjectChange[];
  /** Absent when the patterns are too entangled to tell. */
  readonly impact?: readonly AccessChange[];
  readonly casesPassed: number;
  readonly warnings: readonly DocumentProblem[];
}

/**
 * Compares the documents with the store as of one instant: which objects would be created, changed and deleted, and whose access
 * changes. Changes nothing. Throws what `applyDocuments` throws for documents that are wrong or whose cases fail.
 */
export async function planDocuments(store: SnapshotSource, folder: DocumentFolder, now: number): Promise<Plan> {
  const stored = await store.changesSince();
  const known = new Map<DomainName, DomainRecord>(stored.domains.map((domain) => [domain.name, domain]));
  const { snapshot: decided, contents, warnings } = checkDocuments(folder.documents, known, now);
  const { passed, failures } = runCases(decided, folder.cases, now);
  if (failures.length > 0) throw new InvalidDocumentError(failures);
  const moved = contents.filter((content) => !diffDomains(known.get(content.name), content).empty);
  const { snapshot: before } = compileSnapshot(undefined, stored);
  const { snapshot: after } = compileSnapshot(before, {
    state: stored.state,
    domains: moved.map((content) => asRecord(content, now)),
    deleted: [],
    signingKeys: stored.signingKeys,
  });
  const impact = impactIfKnown(before, after, now);
  return {
    state: stored.state,
    changes: moved.flatMap((content) => describeChanges(known.get(content.name), content)),
    ...(impact !== undefined && { impact }),
    casesPassed: passed,
    warnings,
  };
}

/** The impact, or undefined where the patterns are too entangled to find it. */
export function impactIfKnown(before: Snapshot, after: Snapshot, now: number): AccessChange[] | undefined {
  try {
    return impactOf(before, after, now);
  } catch (error) {
    if (error instanceof PatternsTooComplexError) return undefined;
    throw error;
  }
}
