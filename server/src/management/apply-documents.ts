import type { DomainName } from '@signet/policy-engine/names';
import { type DocumentProblem, InvalidDocumentError, PreconditionFailedError } from '../errors.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { diffDomains } from '../store/diff-domains.ts';
import type { ChangeContext, DomainContent, DomainRecord, ServiceRecord } from '../store/records.ts';
import type { SaveOutcome, Store, StoreState, StoreTransaction } from '../store/store.ts';
import type { CaseFile } from './documents/case-file.ts';
import type { DomainDocument } from './documents/parse-document.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import { checkReferences, neededDomains, referredDomains } from './documents/references.ts';
import { requireReason } from './require-reason.ts';
import { runCases } from './run-cases.ts';

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
  readonly contents: readonly DomainContent[];
  readonly warnings: readonly DocumentProblem[];
}

/**
 * Makes the domains of the documents exactly what they say, in one transaction: references are checked, the cases run on the result,
 * and only then something is written. Domains without a document stay as they are, public keys of services whose document names
 * none too. Throws `InvalidDocumentError` with every problem and every failing case, and `PreconditionFailedError` when the store
 * is no longer in the `planned` state, `InvalidRequestError` when a domain asks for a reason; then nothing has changed.
 */
export function applyDocuments(
  store: Store,
  folder: DocumentFolder,
  context: ChangeContext,
  now: number,
  planned?: StoreState,
): Promise<ApplySummary> {
  return store.change(context, async (transaction) => {
    if (planned !== undefined) requireUnmoved(transaction.state(), planned);
    const known = await knownDomains(transaction, folder);
    const { snapshot, contents, warnings } = checkDocuments(folder.documents, known, now);
    const { passed, failures } = runCases(snapshot, folder.cases, now);
    if (failures.length > 0) throw new InvalidDocumentError(failures);
    const domains: AppliedDomain[] = [];
    for (const content of contents) {
      const before = known.get(content.name);
      if (before !== undefined && !diffDomains(before, content).empty) requireReason(before, context);
      const { kind, version } = await transaction.saveDomain(content);
      domains.push({ name: content.name, outcome: kind, version });
    }
    return { domains, casesPassed: passed, warnings };
  });
}

function requireUnmoved(state: StoreState, planned: StoreState): void {
  if (state.epoch === planned.epoch && state.counter === planned.counter) return;
  throw new PreconditionFailedError('the store changed since the plan: plan again');
}

/** Checks documents against each other and against `known` domains of a store. Pure. Throws `InvalidDocumentError`. */
export function checkDocuments(
  documents: readonly DomainDocument[],
  known: ReadonlyMap<DomainName, DomainRecord>,
  now: number,
): CheckedDocuments {
  const contents = documents.map((document) => withKeptKeys(document, known.get(document.content.name)));
  const all = new Map<DomainName, DomainContent>(known);
  for (const content of contents) all.set(content.name, content);
  const { problems, warnings } = checkReferences(documents, all);
  if (problems.length > 0) throw new InvalidDocumentError(problems);
  const domains = [...all.values()].map((content) => asRecord(content, now));
  const state = { epoch: 1, counter: 1 };
  const compiled = compileSnapshot(undefined, { state, domains, deleted: [], signingKeys: [] });
  const [problem] = compiled.problems;
  if (problem !== undefined) throw problem.error;
  return { snapshot: compiled.snapshot, contents, warnings };
}

function withKeptKeys({ content, keepsKeys }: DomainDocument, stored: DomainRecord | undefined): DomainContent {
  const services = content.services.map((service): ServiceRecord => {
    const known = stored?.services.find(({ name }) => name === service.name);
    return known !== undefined && keepsKeys.has(service.name) ? { ...service, publicKeys: known.publicKeys } : service;
  });
  return { ...content, services };
}

/** As it would be stored, with made-up numbers: no case asks for them. */
export function asRecord(content: DomainContent, now: number): DomainRecord {
  return {
    ...content,
    version: 1,
    modified: now,
    policies: content.policies.map((policy) => ({
      ...policy,
      modified: now,
      assertions: policy.assertions.map((assertion, index) => ({ ...assertion, id: index + 1 })),
    })),
  };
}

/** The stored domains that the documents replace, refer to, or ask about in cases, and those that these need in turn. */
async function knownDomains(
  transaction: StoreTransaction,
  { documents, cases }: DocumentFolder,
): Promise<ReadonlyMap<DomainName, DomainRecord>> {
  const known = new Map<DomainName, DomainRecord>();
  const contents = documents.map((document) => document.content);
  let wanted: Set<DomainName> = new Set([
    ...contents.map((content) => content.name),
    ...referredDomains(contents),
    ...askedDomains(cases),
  ]);
  const seen = new Set<DomainName>();
  while (wanted.size > 0) {
    const found: DomainRecord[] = [];
    for (const name of wanted) {
      seen.add(name);
      const domain = await transaction.domain(name);
      if (domain !== undefined) found.push(domain);
    }
    for (const domain of found) known.set(domain.name, domain);
    wanted = new Set([...neededDomains(found)].filter((name) => !seen.has(name)));
  }
  return known;
}

function askedDomains(cases: readonly CaseFile[]): DomainName[] {
  return cases.flatMap((file) => file.cases.map((policyCase) => policyCase.domain));
}
