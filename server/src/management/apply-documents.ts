import type { DomainName } from '@signet/policy-engine/names';
import {
  type DocumentProblem,
  InvalidDocumentError,
  PolicyTestsFailedError,
  PreconditionFailedError,
} from '../errors.ts';
import type { ChangeContext, DomainContent, DomainRecord, ServiceRecord } from '../model/records.ts';
import type { SaveOutcome, Store } from '../model/store.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { diffDomains } from '../store/diff-domains.ts';
import { type DocumentChange, type DocumentRules, findElsewhere, findRefusals } from './document-refusals.ts';
import type { DomainDocument } from './documents/parse-document.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import { checkReferences } from './documents/references.ts';
import { lostNames, removeMemberships } from './name-safeguards.ts';
import type { PlannedState } from './plan-file.ts';
import { requireReason } from './require-reason.ts';
import { runCases } from './run-cases.ts';
import { placeholders, readWorld, type StoredWorld } from './stored-world.ts';

export interface AppliedDomain {
  readonly name: DomainName;
  readonly outcome: SaveOutcome['kind'];
  readonly version: number;
}

/** What an apply did. */
export interface ApplySummary {
  readonly domains: readonly AppliedDomain[];
  readonly casesPassed: number;
  /** What the author should look at although it was applied. */
  readonly warnings: readonly DocumentProblem[];
}

/** What documents mean together: checked, compiled, ready for cases. */
export interface CheckedDocuments {
  readonly snapshot: Snapshot;
  readonly changes: readonly DocumentChange[];
  readonly warnings: readonly DocumentProblem[];
}

export interface ApplyOptions extends DocumentRules {
  /** The state that the store must still have. */
  readonly planned?: PlannedState;
}

/**
 * Makes the domains of the documents exactly what they say, in one transaction: references and the rules of the management API are
 * checked, the cases run on the result, and only then something is written. Domains without a document stay as they are, public keys and
 * the endpoint of services whose document names none too: whoever runs a service registers them. Throws `InvalidDocumentError` with every problem and every failing case,
 * `PreconditionFailedError` when the store is no longer in the `planned` state, `InvalidRequestError` when a domain asks for a
 * reason; then nothing has changed.
 */
export function applyDocuments(
  store: Store,
  folder: DocumentFolder,
  context: ChangeContext,
  now: number,
  options: ApplyOptions = {},
): Promise<ApplySummary> {
  return store.change(context, async (transaction) => {
    if (options.planned !== undefined) requireUnmoved(transaction.state(), options.planned);
    const world = await readWorld(transaction, folder);
    const { snapshot, changes, warnings } = checkDocuments(folder.documents, world, now);
    const refusals = await findRefusals(transaction, changes, options, now);
    if (refusals.length > 0) throw new InvalidDocumentError(refusals);
    const elsewhere = await findElsewhere(transaction, changes, options);
    const { passed, failures } = runCases(snapshot, folder.cases, now);
    if (failures.length > 0) throw new PolicyTestsFailedError(failures);
    const domains: AppliedDomain[] = [];
    for (const { before, after } of changes) {
      if (before !== undefined && !diffDomains(before, after).empty) requireReason(before, context);
      const { kind, version } = await transaction.saveDomain(after);
      domains.push({ name: after.name, outcome: kind, version });
    }
    if (options.removeMemberships === true) {
      await removeMemberships(
        transaction,
        changes.flatMap(({ before, after }) => lostNames(before, after)),
      );
    }
    return { domains, casesPassed: passed, warnings: [...warnings, ...elsewhere] };
  });
}

function requireUnmoved(state: PlannedState, planned: PlannedState): void {
  if (state.epoch === planned.epoch && state.counter === planned.counter) return;
  throw new PreconditionFailedError('the store changed since the plan: plan again');
}

/** Checks documents against each other and against the domains of a store. Pure. Throws `InvalidDocumentError`. */
export function checkDocuments(
  documents: readonly DomainDocument[],
  { domains: known, services, switchedOff }: StoredWorld,
  now: number,
): CheckedDocuments {
  const changes = documents.map((document): DocumentChange => {
    const before = known.get(document.content.name);
    return { document, before, after: withWhatStays(document, before) };
  });
  const all = new Map<DomainName, DomainContent>(known);
  for (const { after } of changes) all.set(after.name, after);
  const { problems, warnings } = checkReferences(documents, { before: known, after: all, services });
  if (problems.length > 0) throw new InvalidDocumentError(problems);
  const domains = [
    ...[...all.values()].map((content) => asRecord(content, now)),
    ...placeholders(switchedOff, (name) => all.has(name)),
  ];
  const state = { epoch: 1, counter: 1, head: '' };
  const compiled = compileSnapshot(undefined, { state, domains, deleted: [], signingKeys: [] });
  const [problem] = compiled.problems;
  if (problem !== undefined) throw problem.error;
  return { snapshot: compiled.snapshot, changes, warnings };
}

function withWhatStays({ content, keepsKeys }: DomainDocument, stored: DomainRecord | undefined): DomainContent {
  const services = content.services.map((service): ServiceRecord => {
    const known = stored?.services.find(({ name }) => name === service.name);
    if (known === undefined) return service;
    return {
      ...(known.providerEndpoint !== undefined && { providerEndpoint: known.providerEndpoint }),
      ...service,
      ...(keepsKeys.has(service.name) && { publicKeys: known.publicKeys }),
    };
  });
  return { ...content, services };
}

/** As it would be stored, with made-up numbers: no case asks for them. */
export function asRecord(content: DomainContent, now: number): DomainRecord {
  return {
    ...content,
    policyVersion: 1,
    policyModified: now,
    policies: content.policies.map((policy) => ({
      ...policy,
      modified: now,
      assertions: policy.assertions.map((assertion, index) => ({ ...assertion, id: index + 1 })),
    })),
  };
}
