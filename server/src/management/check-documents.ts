import type { DomainName } from '@signet/policy-engine/names';
import { type DocumentProblem, InvalidDocumentError } from '../errors.ts';
import type { DomainContent, DomainRecord, RoleRecord, ServiceRecord } from '../model/records.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { diffDomains } from '../store/diff-domains.ts';
import type { DocumentChange } from './document-refusals.ts';
import { assertionWarnings } from './documents/assertion-warnings.ts';
import type { CaseFile } from './documents/case-file.ts';
import { caseWarnings } from './documents/case-warnings.ts';
import type { DomainDocument } from './documents/parse-document.ts';
import { byPlace, placeOf } from './documents/places.ts';
import { checkReferences } from './documents/references.ts';
import { roleWarnings } from './documents/role-warnings.ts';
import { tokenSizeWarnings } from './documents/token-size-warnings.ts';
import { expiredMembers, freshlyExpired } from './expired-members.ts';
import { placeholders, type StoredWorld } from './stored-world.ts';

/** Documents checked together, compiled, and ready for cases. */
interface CheckedDocuments {
  readonly snapshot: Snapshot;
  readonly changes: readonly DocumentChange[];
  /** Warnings for the authors, in the order of the files; nothing is refused for them. */
  readonly warnings: readonly DocumentProblem[];
}

/**
 * Checks documents, and the names in their cases, against each other and against the domains of a store. Members that have expired are
 * warned of where they did before, and without a store. Pure. Throws `InvalidDocumentError`.
 */
export function checkDocuments(
  documents: readonly DomainDocument[],
  { domains: known, services: stored, isWhole, switchedOff, sees }: StoredWorld,
  now: number,
  cases: readonly CaseFile[] = [],
): CheckedDocuments {
  const changes = documents.map((document): DocumentChange => {
    const before = known.get(document.content.name);
    const after = withWhatStays(document, before, now);
    return { document, before, after, change: diffDomains(before, after) };
  });
  const all = new Map<DomainName, DomainContent>(known);
  for (const { after } of changes) all.set(after.name, after);
  const services = new Map(stored);
  for (const { name, services: own } of all.values()) services.set(name, new Set(own.map((service) => service.name)));
  const world = { after: all, services, isWhole, sees };
  const { problems, warnings } = checkReferences(changes, world);
  if (problems.length > 0) throw new InvalidDocumentError(problems);
  const domains = [
    ...[...all.values()].map((content) => asRecord(content, now)),
    ...placeholders(switchedOff, (name) => all.has(name)),
  ];
  const state = { epoch: 1, counter: 1, head: '' };
  const compiled = compileSnapshot(undefined, { state, domains, deleted: [], signingKeys: [], isPart: true });
  const [problem] = compiled.problems;
  if (problem !== undefined) throw problem.error;
  const mistakes = changes.flatMap((change) => {
    const { document } = change;
    const unused = [...assertionWarnings(document), ...roleWarnings(document, all, now)];
    return [...unused, ...tokenSizeWarnings(document, now), ...expiredBefore(change, isWhole, now)].sort(byPlace);
  });
  return {
    snapshot: compiled.snapshot,
    changes,
    warnings: [...warnings, ...mistakes, ...caseWarnings(cases, world)],
  };
}

function expiredBefore({ document: { source }, change, after }: DocumentChange, isWhole: boolean, now: number) {
  const keyOf = ({ path }: { readonly path: readonly string[] }) => JSON.stringify(path);
  const fresh = new Set(isWhole ? freshlyExpired(change, now).map(keyOf) : []);
  return expiredMembers(after, now)
    .filter((member) => !fresh.has(keyOf(member)))
    .map(({ path, message }) => source.problem(placeOf(source.value, path), message));
}

/** The content of a document with what others put there: keys and endpoints of services, and memberships that were asked for. */
function withWhatStays(
  { content, keepsKeys }: DomainDocument,
  stored: DomainRecord | undefined,
  now: number,
): DomainContent {
  const before = new Map(stored?.services.map((service) => [service.name, service]));
  const services = content.services.map((service): ServiceRecord => {
    const known = before.get(service.name);
    if (known === undefined) return service;
    return {
      ...(known.endpoint !== undefined && { endpoint: known.endpoint }),
      ...service,
      ...(keepsKeys.has(service.name) && { publicKeys: known.publicKeys }),
    };
  });
  const roles = new Map(stored?.roles.map((role) => [role.name, role]));
  return { ...content, services, roles: content.roles.map((role) => withAskedFor(role, roles.get(role.name), now)) };
}

/** The role with the members who asked for it and whose time has not ended. */
function withAskedFor(role: RoleRecord, stored: RoleRecord | undefined, now: number): RoleRecord {
  const { requestSeconds, members } = role;
  if (requestSeconds === undefined || stored?.requestSeconds === undefined) return role;
  const named = new Set(members.map(({ name }) => name));
  const until = now + requestSeconds * 1000;
  const lent = stored.members.filter(
    ({ name, expires }) => expires !== undefined && expires > now && expires <= until && !named.has(name),
  );
  return lent.length === 0 ? role : { ...role, members: [...members, ...lent] };
}

/** Domain in the form of a record, with made-up numbers: no case depends on them. */
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
