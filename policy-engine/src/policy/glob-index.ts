import { type AssertionGroup, mayOffer, searchGroup } from './assertion-group.ts';
import { type GlobParts, globParts } from './glob-parts.ts';
import { globLiterals, matchesGlob } from './pattern.ts';
import { emptyTrie, isLeaf, nextNode, nextNodeBackwards, type TrieNode, trieNode } from './radix-trie.ts';
import type { Search } from './search.ts';

/** A glob, and the next one that shares its literals. */
interface GlobEntry {
  readonly glob: string;
  /** `null` until it is first compared. */
  parts: GlobParts | undefined | null;
  readonly group: AssertionGroup;
  next: GlobEntry | undefined;
  /** The last search that looked at it: a literal may be found in more than one place. */
  seen: number;
}

/** The runtime finds a text of so many characters in a time that hardly depends on what it is. */
const shortLabel = 32;

/** By the literal before the first wildcard, there by the one behind the last (backwards), there by the longest between. */
type ByInner = TrieNode<GlobEntry>;
type BySuffix = TrieNode<ByInner>;
type ByPrefix = TrieNode<BySuffix>;

/** From a text to the assertions of the globs that match it; only globs whose literals are in the text are compared with it. */
export class GlobIndex {
  readonly #byPrefix: ByPrefix = emptyTrie();
  #searches = 0;

  add(glob: string, group: AssertionGroup): void {
    const { prefix, suffix, inner } = globLiterals(glob);
    const atPrefix = trieNode(this.#byPrefix, prefix);
    atPrefix.value ??= emptyTrie();
    const atSuffix = trieNode(atPrefix.value, reversed(suffix));
    atSuffix.value ??= emptyTrie();
    const atInner = trieNode(atSuffix.value, inner);
    const first = atInner.value;
    // the first stays first: it has the smallest rank, so once it matches most of the others need not be compared
    if (first === undefined) atInner.value = { glob, parts: null, group, next: undefined, seen: 0 };
    else first.next = { glob, parts: null, group, next: first.next, seen: 0 };
  }

  /** Offers what the assertions of every glob that matches have to offer. */
  search(text: string, search: Search): void {
    this.#searches += 1;
    let node: ByPrefix | undefined = this.#byPrefix;
    let at = 0;
    while (node !== undefined) {
      at += node.label.length;
      if (node.value !== undefined) this.#searchBySuffix(node.value, text, at, search);
      node = nextNode(node, text, at, search);
    }
  }

  #searchBySuffix(root: BySuffix, text: string, from: number, search: Search): void {
    let node: BySuffix | undefined = root;
    let at = text.length - 1;
    while (node !== undefined) {
      at -= node.label.length;
      if (node.value !== undefined) this.#searchByInner(node.value, text, from, search);
      node = nextNodeBackwards(node, text, at, search);
    }
  }

  #searchByInner(root: ByInner, text: string, from: number, search: Search): void {
    if (root.value !== undefined) this.#searchEntries(root.value, text, search);
    if (isLeaf(root)) return;
    search.spend(text.length - from);
    const { only } = root;
    if (only !== undefined && only.label.length <= shortLabel) {
      for (let at = text.indexOf(only.label, from); at >= 0; at = text.indexOf(only.label, at + 1)) {
        search.spend(only.label.length);
        this.#searchFrom(only, text, at, search);
      }
      return;
    }
    for (let at = from; at < text.length; at += 1) {
      const node = nextNode(root, text, at, search);
      if (node !== undefined) this.#searchFrom(node, text, at, search);
    }
  }

  /** The label of the node stands at that place. */
  #searchFrom(first: ByInner, text: string, from: number, search: Search): void {
    let node: ByInner | undefined = first;
    let at = from;
    while (node !== undefined) {
      if (node.value !== undefined) this.#searchEntries(node.value, text, search);
      at += node.label.length;
      node = nextNode(node, text, at, search);
    }
  }

  #searchEntries(first: GlobEntry, text: string, search: Search): void {
    if (first.seen === this.#searches) return;
    first.seen = this.#searches;
    for (let entry: GlobEntry | undefined = first; entry !== undefined; entry = entry.next) {
      const { glob, group } = entry;
      if (!mayOffer(group, search)) continue;
      if (entry.parts === null) entry.parts = globParts(glob);
      if (matchesGlob(glob, entry.parts, text, search)) searchGroup(group, search);
    }
  }
}

function reversed(text: string): string {
  let backwards = '';
  for (let i = text.length - 1; i >= 0; i -= 1) backwards += text.charAt(i);
  return backwards;
}
