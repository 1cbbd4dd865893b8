import type { DomainName } from '@signet/policy-engine/names';
import { type DocumentProblem, InvalidDocumentError } from '../errors.ts';
import type { DomainContent, DomainRecord, ServiceRecord } from '../model/records.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { diffDomains } from '../store/diff-domains.ts';
import type { DocumentChange } from './document-refusals.ts';
import type { DomainDocument } from './documents/parse-document.ts';
import { checkReferences } from './documents/references.ts';
import { placeholders, type StoredWorld } from './stored-world.ts';

/** What documents mean together: checked, compiled, ready for cases. */
interface CheckedDocuments {
  readonly snapshot: Snapshot;
  readonly changes: readonly DocumentChange[];
  readonly warnings: readonly DocumentProblem[];
}

/** Checks documents against each other and against the domains of a store. Pure. Throws `InvalidDocumentError`. */
export function checkDocuments(
  documents: readonly DomainDocument[],
  { domains: known, services, switchedOff }: StoredWorld,
  now: number,
): CheckedDocuments {
  const changes = documents.map((document): DocumentChange => {
    const before = known.get(document.content.name);
    const after = withWhatStays(document, before);
    return { document, before, after, change: diffDomains(before, after) };
  });
  const all = new Map<DomainName, DomainContent>(known);
  for (const { after } of changes) all.set(after.name, after);
  const { problems, warnings } = checkReferences(changes, { after: all, services });
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
      ...(known.endpoint !== undefined && { endpoint: known.endpoint }),
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
