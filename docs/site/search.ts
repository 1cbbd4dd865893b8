/* Order of search results, and words that readers type for the words of the pages. Runs in the browser. */

/** Factors of a result's score by the beginning of its address; the first that fits counts. */
const boosts: readonly (readonly [path: string, boost: number])[] = [
  ['/guides/', 4],
  ['/tutorial/', 4],
  ['/concepts/', 3],
  ['/playground', 3],
  ['/reference/policy-engine/', 0.4],
  ['/reference/client/', 0.4],
  ['/reference/schemas', 0.6],
  ['/reference/conformance', 0.3],
  ['/reference/cli', 1.2],
  // What a status means is looked for more often than the other contents of the reference.
  ['/reference/decisions', 4],
  // Options are looked up by their names.
  ['/reference/configuration', 1.7],
  ['/reference/', 1.5],
  ['/decisions/', 0.2],
];

/** Part of what the index keeps of a section. */
interface StoredFields {
  readonly title?: unknown;
  readonly titles?: unknown;
}

/** The title of the page that a section is of. */
function pageTitleOf({ title, titles }: StoredFields): string {
  const [first] = Array.isArray(titles) ? titles : [];
  return String(first ?? title).toLowerCase();
}

/** How much a result counts, by its address; more where the title of the page has the term. */
export function boostOf(address: string, term = '', stored: StoredFields = {}): number {
  const boost = boosts.find(([path]) => address.startsWith(path))?.[1] ?? 1;
  const isOfTitle = term !== '' && pageTitleOf(stored).includes(term);
  return isOfTitle ? boost * 2 : boost;
}

/** Words that stand for each other. A term of several words is found by the one that tells it from others. */
const synonyms: readonly (readonly string[])[] = [
  ['permission', 'permissions', 'access', 'rights'],
  ['revoke', 'revocation', 'remove'],
  ['jwt', 'jwts', 'token', 'tokens'],
  ['cert', 'certs', 'certificate', 'certificates'],
  ['mtls', 'mutual', 'tls'],
  ['rotate', 'rotation', 'rollover'],
  ['ha', 'availability', 'several', 'servers'],
  ['k8s', 'kubernetes'],
  ['rbac', 'role', 'roles'],
  ['deny', 'refuse', 'refused'],
  ['case', 'cases', 'test', 'tests'],
];

/** The terms to search for a word that was typed: the word in lower case, then those that stand for it. */
export function withSynonyms(word: string): string[] {
  const term = word.toLowerCase();
  return [...new Set([term, ...synonyms.filter((words) => words.includes(term)).flat()])];
}

/** Settings of MiniSearch; a short word is no beginning of another, and only a long one is searched with errors. */
export const searchOptions = {
  boostDocument: boostOf,
  processTerm: withSynonyms,
  prefix: (term: string): boolean => term.length > 3,
  fuzzy: (term: string): number => (term.length > 5 ? 0.2 : 0),
};
