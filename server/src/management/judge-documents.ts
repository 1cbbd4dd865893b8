import { type DomainName, type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { type AskersCertificate, requireAsker } from '../access/recording-conditions.ts';
import { type DocumentProblem, ForbiddenError } from '../errors.ts';
import { defaultsOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type { DomainRecord, ListKind, MemberRecord } from '../model/records.ts';
import type { StoreReader } from '../model/store.ts';
import { checkDocuments } from './check-documents.ts';
import {
  type DocumentChange,
  type DocumentRules,
  findElsewhere,
  findRefusals,
  refusedWarnings,
} from './document-refusals.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import { lostNames } from './name-safeguards.ts';
import { adminRole, type CallerRights, everyRight, rightsOf, systemDomain } from './rights.ts';
import { type CaseReport, runCases } from './run-cases.ts';
import { readWorld, type StoredWorld, snapshotOf, withNeeded } from './stored-world.ts';

/** Caller of the management API who brings documents. */
export interface DocumentAuthor {
  readonly caller: PrincipalName;
  readonly certificate?: AskersCertificate;
}

export interface JudgingOptions extends DocumentRules {
  /** Absent for a command beside the store, which sees everything and may do everything. */
  readonly author?: DocumentAuthor;
}

/** Rights of the author of documents. */
export type AuthorRights = Omit<CallerRights, 'caller'>;

/** Documents as judged on a store as of one instant. */
interface JudgedDocuments {
  readonly changes: readonly DocumentChange[];
  /** Warnings for the author that nothing is refused for. */
  readonly warnings: readonly DocumentProblem[];
  /** Reasons why the documents are refused; empty if none. */
  readonly refusals: readonly DocumentProblem[];
  readonly cases: Pick<CaseReport, 'passed' | 'failures'>;
  readonly rights: AuthorRights;
  /** The stored domains that the documents and the rights of their author have to do with. */
  readonly domains: ReadonlyMap<DomainName, DomainRecord>;
}

/**
 * Judges documents by references, the rules of the management API and policy tests, for their author. INVARIANT: nothing of it depends on members
 * of roles and groups that the author may not look at. Throws `InvalidDocumentError` for documents that are wrong in themselves,
 * `ForbiddenError` when the author does not see the whole of a domain that they are about.
 */
export async function judgeDocuments(
  reader: StoreReader,
  folder: DocumentFolder,
  now: number,
  { author, ...rules }: JudgingOptions,
): Promise<JudgedDocuments> {
  const world = await readWorld(reader, folder);
  const { rights, domains } = await rightsIn(reader, world, author, now);
  requireWholeView(rights, folder);
  const { snapshot, changes, warnings } = checkDocuments(folder.documents, seenWorld(world, rights), now, folder.cases);
  // Rights in the domains that list what the changes remove decide whether these are named.
  const listing = author === undefined ? [] : await domainsListing(reader, changes);
  const wider = { ...world, domains: await withNeeded(reader, domains, listing) };
  const { sees } = listing.length === 0 ? rights : (await rightsIn(reader, wider, author, now)).rights;
  const judging = { ...rules, sees };
  const elsewhere = await findElsewhere(reader, changes, judging);
  const refused = new Set(refusedWarnings(warnings, elsewhere, rules));
  return {
    changes,
    warnings: [...warnings, ...elsewhere].filter((warning) => !refused.has(warning)),
    refusals: [...(await findRefusals(reader, changes, judging, now)), ...refused],
    cases: runCases(snapshot, folder.cases, now),
    rights,
    domains,
  };
}

interface RightsIn {
  readonly rights: AuthorRights;
  readonly domains: StoredWorld['domains'];
}

/**
 * Rights of the author, whose credentials may have ended since the request was made, and the domains that tell them. A domain that the author may
 * manage is one that it sees whole.
 */
async function rightsIn(
  reader: StoreReader,
  { domains, switchedOff }: Pick<StoredWorld, 'domains' | 'switchedOff'>,
  author: DocumentAuthor | undefined,
  now: number,
): Promise<RightsIn> {
  if (author === undefined) return { rights: everyRight, domains };
  const own = splitPrincipal(author.caller)?.domain;
  const known = await withNeeded(reader, domains, [systemDomain, ...(own === undefined ? [] : [own])]);
  const snapshot = snapshotOf({ domains: known, switchedOff });
  await requireAsker(reader, snapshot, { principal: author.caller, certificate: author.certificate });
  const { seesAll, sees, operates, ...others } = rightsOf(snapshot, author.caller, now);
  const rights: AuthorRights = {
    ...others,
    operates,
    seesAll: (domain) => seesAll(domain) || operates(domain),
    sees: (domain, object) => sees(domain, object) || operates(domain),
  };
  return { rights, domains: known };
}

/** The domains with roles or groups that list what the changes remove. */
async function domainsListing(reader: StoreReader, changes: readonly DocumentChange[]): Promise<DomainName[]> {
  const lost = changes.flatMap(({ change }) => lostNames(change));
  return lost.length === 0 ? [] : (await reader.memberships(lost)).map(({ domain }) => domain);
}

/** One text for a domain that does not exist and for one that the author may not look at. */
function requireWholeView({ seesAll }: AuthorRights, { documents, cases }: DocumentFolder): void {
  const asked = cases.flatMap((file) => file.cases.map(({ domain }) => domain));
  for (const domain of new Set([...documents.map(({ content }) => content.name), ...asked])) {
    if (seesAll(domain)) continue;
    throw new ForbiddenError(
      `documents and policy tests of \`${domain}\` require the right to look at all of it: its role \`${adminRole}\`, or \`view_domain\` by \`${systemDomain}\``,
    );
  }
}

/** Member in place of those that the author may not look at: no principal has this name. */
const standIn: MemberRecord = { ...defaultsOf(recordFields.member), name: '_hidden_._' };

/** The world as far as the author may look at it. */
function seenWorld(world: StoredWorld, { seesAll, sees }: AuthorRights): StoredWorld {
  const seenIn = (domain: DomainName, kind: ListKind) => {
    return <List extends { readonly name: string; readonly members: readonly MemberRecord[] }>(list: List): List =>
      sees(domain, `${kind}.${list.name}`) ? list : { ...list, members: [standIn] };
  };
  const seen = (domain: DomainRecord): DomainRecord => {
    const { name, roles, groups } = domain;
    if (seesAll(name)) return domain;
    return { ...domain, roles: roles.map(seenIn(name, 'role')), groups: groups.map(seenIn(name, 'group')) };
  };
  return { ...world, sees, domains: new Map([...world.domains].map(([name, domain]) => [name, seen(domain)])) };
}
