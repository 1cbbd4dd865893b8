import { GlobIndex } from './glob-index.ts';
import type { PatternKind } from './pattern.ts';
import { emptyTrie, nextNode, type TrieNode, trieNode } from './radix-trie.ts';
import { type Rules, searchRules } from './rules.ts';
import type { Search } from './search.ts';

/**
 * From a text to the rules of all patterns that match it, without looking at patterns that cannot: exact texts in a map,
 * prefixes in a tree, other globs by the literals that they hold. A text has few prefixes, so the cost hardly grows.
 */
export class PatternIndex {
  readonly #exact = new Map<string, Rules>();
  #prefixes: TrieNode<Rules> | undefined;
  #globs: GlobIndex | undefined;

  /** `text` is the literal of an `exact` pattern and of a prefix, and the whole of a `glob`. No pattern may be given twice. */
  add(kind: PatternKind, text: string, rules: Rules): void {
    if (kind === 'exact') {
      this.#exact.set(text, rules);
    } else if (kind === 'glob') {
      this.#globs ??= new GlobIndex();
      this.#globs.add(text, rules);
    } else {
      this.#prefixes ??= emptyTrie();
      trieNode(this.#prefixes, text).value = rules;
    }
  }

  /** Offers what the rules of every pattern that matches have to offer. */
  search(text: string, search: Search): void {
    const exact = this.#exact.get(text);
    if (exact !== undefined) searchRules(exact, search);
    if (this.#prefixes !== undefined) searchPrefixes(this.#prefixes, text, search);
    this.#globs?.search(text, search);
  }
}

function searchPrefixes(root: TrieNode<Rules>, text: string, search: Search): void {
  let node: TrieNode<Rules> | undefined = root;
  let at = 0;
  while (node !== undefined) {
    at += node.label.length;
    if (node.value !== undefined) searchRules(node.value, search);
    node = nextNode(node, text, at, search);
  }
}
