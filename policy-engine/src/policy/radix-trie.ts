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

/**
 * The child on the way of `text` at `at`, when its whole label fits; `step` is 1 for forwards, -1 for backwards. The characters that were
 * compared are spent of `work`.
 */
export function nextNode<T>(
  node: TrieNode<T>,
  text: string,
  at: number,
  step: 1 | -1,
  work: Work,
): TrieNode<T> | undefined {
  const child = node.children?.get(text.charCodeAt(at));
  if (child === undefined) return undefined;
  const { label } = child;
  for (let i = 1; i < label.length; i += 1) {
    if (label.charCodeAt(i) !== text.charCodeAt(at + step * i)) {
      work.spend(i);
      return undefined;
    }
  }
  work.spend(label.length);
  return child;
}
