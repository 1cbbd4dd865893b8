import type { CompiledAssertion } from './assertion.ts';
import { globLiterals, matchesPattern, type Pattern } from './pattern.ts';
import { emptyTrie, nextNode, type TrieNode, trieNode } from './radix-trie.ts';
import type { Query, Rules } from './rules.ts';

/** Work in slices: yields now and then, so that whoever builds a large index can let others run. */
export type Steps<T> = Generator<void, T>;

/** How many insertions are done between two yields. */
export const sliceLength = 256;

interface GlobEntry {
  readonly glob: string;
  readonly rules: Rules;
}

/** Globs that share what the index can tell apart; compared one by one. */
type GlobList = GlobEntry[];

/** Longer lists are split by suffix and inner text. */
const longestScan = 8;

/** What hangs at one literal prefix: the pattern `prefix*`, and the globs that begin with the prefix. */
interface PrefixBucket {
  rules: Rules | undefined;
  globs: GlobEntry[];
  split: GlobSplit | undefined;
}

/** A long list of globs, told apart by the longest literal that follows the prefix. */
interface GlobSplit {
  readonly bySuffix: TrieNode<GlobList>;
  readonly byInner: TrieNode<GlobList> | undefined;
  /** Globs with nothing but wildcards after the prefix. */
  readonly rest: GlobList;
}

/**
 * From a text to the rules of all patterns that match it, without looking at patterns that cannot: exact texts in a map,
 * prefixes in a tree, other globs under their prefix and there by their suffix or their longest inner text.
 */
export class PatternIndex {
  readonly #exact = new Map<string, Rules>();
  readonly #prefixes: TrieNode<PrefixBucket> = emptyTrie();
  #hasPrefixes = false;

  /** Builds the index; no pattern may be given twice. */
  static *build(entries: Iterable<readonly [Pattern, Rules]>): Steps<PatternIndex> {
    const index = new PatternIndex();
    const buckets = new Set<PrefixBucket>();
    let count = 0;
    for (const [pattern, rules] of entries) {
      const bucket = index.#add(pattern, rules);
      if (bucket !== undefined) buckets.add(bucket);
      count += 1;
      if (count % sliceLength === 0) yield;
    }
    for (const bucket of buckets) yield* finish(bucket);
    return index;
  }

  #add(pattern: Pattern, rules: Rules): PrefixBucket | undefined {
    if (pattern.kind === 'exact') {
      this.#exact.set(pattern.text, rules);
      return undefined;
    }
    this.#hasPrefixes = true;
    const prefix = pattern.kind === 'glob' ? pattern.text.slice(0, pattern.text.search(/[*?]/)) : pattern.text;
    const node = trieNode(this.#prefixes, prefix);
    node.value ??= { rules: undefined, globs: [], split: undefined };
    if (pattern.kind !== 'glob') {
      node.value.rules = rules;
      return undefined;
    }
    node.value.globs.push({ glob: pattern.text, rules });
    return node.value;
  }

  /** The assertion with the smallest rank among `best` and those under a pattern that matches `text`. */
  find(text: string, query: Query, best: CompiledAssertion | undefined): CompiledAssertion | undefined {
    const exact = this.#exact.get(text);
    let found = exact === undefined ? best : exact.find(query, best);
    if (!this.#hasPrefixes) return found;
    let node: TrieNode<PrefixBucket> | undefined = this.#prefixes;
    let at = 0;
    while (node !== undefined) {
      at += node.label.length;
      if (node.value !== undefined) found = findInBucket(node.value, text, at, query, found);
      node = nextNode(node, text, at, 1);
    }
    return found;
  }
}

function* finish(bucket: PrefixBucket): Steps<void> {
  bucket.globs.sort((a, b) => a.rules.rank - b.rules.rank);
  if (bucket.globs.length <= longestScan) return;
  const bySuffix: TrieNode<GlobList> = emptyTrie();
  const byInner: TrieNode<GlobList> = emptyTrie();
  const rest: GlobList = [];
  let count = 0;
  for (const entry of bucket.globs) {
    const { suffix, inner } = globLiterals(entry.glob);
    if (inner.length > suffix.length) append(trieNode(byInner, inner), entry);
    else if (suffix.length > 0) append(trieNode(bySuffix, reversed(suffix)), entry);
    else rest.push(entry);
    count += 1;
    if (count % sliceLength === 0) yield;
  }
  bucket.split = { bySuffix, byInner: byInner.children === undefined ? undefined : byInner, rest };
  bucket.globs = [];
}

function append(node: TrieNode<GlobList>, entry: GlobEntry): void {
  if (node.value === undefined) node.value = [entry];
  else node.value.push(entry);
}

function reversed(text: string): string {
  let backwards = '';
  for (let i = text.length - 1; i >= 0; i -= 1) backwards += text.charAt(i);
  return backwards;
}

function findInBucket(
  bucket: PrefixBucket,
  text: string,
  at: number,
  query: Query,
  best: CompiledAssertion | undefined,
): CompiledAssertion | undefined {
  let found = best;
  const { rules, split } = bucket;
  if (rules !== undefined && (found === undefined || rules.rank < found.rank)) found = rules.find(query, found);
  if (split === undefined) return bucket.globs.length === 0 ? found : findInList(bucket.globs, text, query, found);
  found = findInList(split.rest, text, query, found);
  found = findAlong(split.bySuffix, text, text.length - 1, -1, query, found);
  if (split.byInner === undefined) return found;
  for (let start = at; start < text.length; start += 1) {
    found = findAlong(split.byInner, text, start, 1, query, found);
  }
  return found;
}

function findAlong(
  root: TrieNode<GlobList>,
  text: string,
  start: number,
  step: 1 | -1,
  query: Query,
  best: CompiledAssertion | undefined,
): CompiledAssertion | undefined {
  let found = best;
  let at = start;
  let node = nextNode(root, text, at, step);
  while (node !== undefined) {
    if (node.value !== undefined) found = findInList(node.value, text, query, found);
    at += step * node.label.length;
    node = nextNode(node, text, at, step);
  }
  return found;
}

function findInList(
  list: GlobList,
  text: string,
  query: Query,
  best: CompiledAssertion | undefined,
): CompiledAssertion | undefined {
  let found = best;
  for (const { glob, rules } of list) {
    if (found !== undefined && rules.rank >= found.rank) return found;
    if (matchesPattern(glob, text)) found = rules.find(query, found);
  }
  return found;
}
