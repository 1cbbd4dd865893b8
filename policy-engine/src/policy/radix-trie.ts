import type { Work } from './work.ts';

/**
 * A compact prefix tree: one node a branching point, not a character. A key read from the front finds prefixes, a key
 * stored backwards and read from the end finds suffixes; a walk costs at most the length of the text, however many keys
 * there are.
 */
export interface TrieNode<T> {
  /** The characters on the way from the parent. */
  label: string;
  value: T | undefined;
  children: Map<number, TrieNode<T>> | undefined;
}

export function emptyTrie<T>(): TrieNode<T> {
  return { label: '', value: undefined, children: undefined };
}

/** The node of `key`, made when there is none. */
export function trieNode<T>(root: TrieNode<T>, key: string): TrieNode<T> {
  let node = root;
  let at = 0;
  while (at < key.length) {
    node.children ??= new Map();
    const child = node.children.get(key.charCodeAt(at));
    if (child === undefined) return addLeaf(node.children, key.slice(at));
    const common = commonLength(child.label, key, at);
    node = common === child.label.length ? child : split(node.children, child, common);
    at += common;
  }
  return node;
}

function addLeaf<T>(siblings: Map<number, TrieNode<T>>, label: string): TrieNode<T> {
  const leaf: TrieNode<T> = { label, value: undefined, children: undefined };
  siblings.set(label.charCodeAt(0), leaf);
  return leaf;
}

function split<T>(siblings: Map<number, TrieNode<T>>, child: TrieNode<T>, at: number): TrieNode<T> {
  const upper: TrieNode<T> = { label: child.label.slice(0, at), value: undefined, children: new Map() };
  siblings.set(child.label.charCodeAt(0), upper);
  child.label = child.label.slice(at);
  upper.children?.set(child.label.charCodeAt(0), child);
  return upper;
}

function commonLength(label: string, key: string, from: number): number {
  const end = Math.min(label.length, key.length - from);
  let length = 0;
  while (length < end && label.charCodeAt(length) === key.charCodeAt(from + length)) length += 1;
  return length;
}

/** As `commonLength`, for a label that was stored backwards: the key is read towards its beginning. */
function commonLengthBackwards(label: string, key: string, from: number): number {
  const end = Math.min(label.length, from + 1);
  let length = 0;
  while (length < end && label.charCodeAt(length) === key.charCodeAt(from - length)) length += 1;
  return length;
}

/** The child on the way of `text` at `at`, when its whole label fits. The characters that it has in common are spent of `work`. */
export function nextNode<T>(node: TrieNode<T>, text: string, at: number, work: Work): TrieNode<T> | undefined {
  const child = node.children?.get(text.charCodeAt(at));
  if (child === undefined) return undefined;
  const common = commonLength(child.label, text, at);
  work.spend(common);
  return common === child.label.length ? child : undefined;
}

/** As `nextNode`, in a tree of keys that were stored backwards. */
export function nextNodeBackwards<T>(node: TrieNode<T>, text: string, at: number, work: Work): TrieNode<T> | undefined {
  const child = node.children?.get(text.charCodeAt(at));
  if (child === undefined) return undefined;
  const common = commonLengthBackwards(child.label, text, at);
  work.spend(common);
  return common === child.label.length ? child : undefined;
}
