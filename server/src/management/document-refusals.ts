import type { DocumentProblem } from '../errors.ts';
import type { MovedDomain } from '../model/domain-change.ts';
import type { Quotas } from '../model/records.ts';
import type { StoreReader } from '../model/store.ts';
import type { NameRules, Sees } from './change-rule.ts';
import { findFaults } from './check-change.ts';
import { usersOf } from './dangling.ts';
import type { DomainDocument } from './documents/parse-document.ts';
import { byPlace, placeOf } from './documents/places.ts';
import { freshlyExpired } from './expired-members.ts';
import { lostNames, removalWarnings } from './name-safeguards.ts';
import { lostGroups } from './safeguards.ts';
import { StoreAfter } from './store-after.ts';

/** Options of plans and applies, as the API names them. */
export const documentFlags = ['allowWildcard', 'removeMemberships', 'reuseName', 'strict'] as const;

export type DocumentFlag = (typeof documentFlags)[number];

export function flagsOf(rules: Readonly<Partial<Record<DocumentFlag, boolean | undefined>>>): readonly DocumentFlag[] {
  return documentFlags.filter((flag) => rules[flag] === true);
}

/** Strictness of the rules for documents. */
export interface DocumentRules extends NameRules {
  /** True to refuse warnings as well. */
  readonly strict?: boolean;
  /** True if `*` and prefixes may become members. */
  readonly allowWildcard?: boolean;
  /** Quotas of the server; absent: only those that a domain has of its own. */
  readonly quotas?: Quotas;
}

/** A domain as a document wants it, and what that changes. */
export interface DocumentChange extends MovedDomain {
  readonly document: DomainDocument;
}

/** The rules, and what the author of the documents may look at. */
interface JudgingRules extends DocumentRules {
  readonly sees: Sees;
}

/**
 * Refusals of documents by the rules of the management API, and new members that have expired, each at its place. A change is judged with all
 * others: whether it is harmless may depend on another document.
 */
export async function findRefusals(
  reader: StoreReader,
  changes: readonly DocumentChange[],
  { allowWildcard = false, ...rules }: JudgingRules,
  now: number,
): Promise<DocumentProblem[]> {
  const facts = { ...rules, reader, after: leftBy(changes, reader), now, allowWildcard };
  const problems: (readonly DocumentProblem[])[] = [];
  for (const { document, change } of changes) {
    const { source } = document;
    const faults = await findFaults(change, facts);
    const refused = [
      ...faults.map(({ path, error }) => ({ path, message: error.message })),
      ...freshlyExpired(change, now),
    ];
    const ofDocument = refused.map(({ path, message }) => {
      return source.problem(placeOf(source.value, path), message, isSection(path) ? 'key' : 'value');
    });
    problems.push(ofDocument.sort(byPlace));
  }
  return problems.flat();
}

/** True if a fault is one of a whole part of a document. */
function isSection([section = '', ...rest]: readonly string[]): boolean {
  return rest.length === 0 && ['roles', 'groups', 'policies', 'services'].includes(section);
}

/** The store as the changes leave it. */
export function leftBy(changes: readonly DocumentChange[], reader: StoreReader): StoreAfter {
  return new StoreAfter(
    reader,
    changes.map(({ change }) => change),
  );
}

/** Warnings about the entries of other domains that name what the documents remove: they are removed with it, or stay and grant nothing. */
export async function findElsewhere(
  reader: StoreReader,
  changes: readonly DocumentChange[],
  { removeMemberships = false, sees }: JudgingRules,
): Promise<DocumentProblem[]> {
  const after = leftBy(changes, reader);
  const problems: (DocumentProblem | readonly DocumentProblem[])[] = [];
  for (const { document, change } of changes) {
    const at = (section: string, text: string) =>
      document.source.problem(placeOf(document.source.value, [section]), text, 'key');
    if (removeMemberships) {
      const removals = await removalWarnings(after, change.name, lostNames(change), sees);
      problems.push(removals.map(({ name, text }) => at(name.includes(':') ? 'groups' : 'services', text)));
      continue;
    }
    for (const group of lostGroups(change)) {
      const users = await usersOf(after, change.name, group);
      if (users.length === 0) continue;
      const [user] = users.filter((name) => sees(name, 'domain'));
      const who = user === undefined ? 'a domain that you may not look at' : `domain \`${user}\``;
      problems.push(
        at('groups', `group \`${group}\` is missing: ${who} has a role with it, which would then grant nothing`),
      );
    }
  }
  return problems.flat();
}

/** Warnings that `strict` refuses: all but those that `removeMemberships` allows. */
export function refusedWarnings(
  mistakes: readonly DocumentProblem[],
  elsewhere: readonly DocumentProblem[],
  { strict = false, removeMemberships = false }: DocumentRules,
): readonly DocumentProblem[] {
  if (!strict) return [];
  return removeMemberships ? mistakes : [...mistakes, ...elsewhere];
}
