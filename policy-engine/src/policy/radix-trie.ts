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
  /** The child, as long as there is one only: most nodes need no map. */
  only: TrieNode<T> | undefined;
  /** By their first character, once they are several. */
  children: Map<number, TrieNode<T>> | undefined;
}

export function emptyTrie<T>(): TrieNode<T> {
  return { label: '', value: undefined, only: undefined, children: undefined };
}

/** Whether a node has no children. */
export function isLeaf<T>({ only, children }: TrieNode<T>): boolean {
  return only === undefined && children === undefined;
}

/** The node of `key`, made when there is none. */
export function trieNode<T>(root: TrieNode<T>, key: string): TrieNode<T> {
  let node = root;
  let at = 0;
  while (at < key.length) {
    const child = childAt(node, key.charCodeAt(at));
    if (child === undefined) {
      const leaf: TrieNode<T> = { label: key.slice(at), value: undefined, only: undefined, children: undefined };
      setChild(node, leaf);
      return leaf;
    }
    const common = commonLength(child.label, key, at);
    node = common === child.label.length ? child : split(node, child, common);
    at += common;
  }
  return node;
}

function childAt<T>({ only, children }: TrieNode<T>, unit: number): TrieNode<T> | undefined {
  if (only === undefined) return children?.get(unit);
  return only.label.charCodeAt(0) === unit ? only : undefined;
}

/** Sets a child, in place of the one with the same first character. */
function setChild<T>(node: TrieNode<T>, child: TrieNode<T>): void {
  const { only } = node;
  const unit = child.label.charCodeAt(0);
  if (node.children !== undefined) {
    node.children.set(unit, child);
  } else if (only === undefined || only.label.charCodeAt(0) === unit) {
    node.only = child;
  } else {
    node.children = new Map([
      [only.label.charCodeAt(0), only],
      [unit, child],
    ]);
    node.only = undefined;
  }
}

function split<T>(parent: TrieNode<T>, child: TrieNode<T>, at: number): TrieNode<T> {
  const upper: TrieNode<T> = {
    label: child.label.slice(0, at),
    value: undefined,
    only: undefined,
    children: undefined,
  };
  setChild(parent, upper);
  child.label = child.label.slice(at);
  setChild(upper, child);
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
  const child = childAt(node, text.charCodeAt(at));
  if (child === undefined) return undefined;
  const common = commonLength(child.label, text, at);
  work.spend(common);
  return common === child.label.length ? child : undefined;
}

/** As `nextNode`, in a tree of keys that were stored backwards. */
export function nextNodeBackwards<T>(node: TrieNode<T>, text: string, at: number, work: Work): TrieNode<T> | undefined {
  const child = childAt(node, text.charCodeAt(at));
  if (child === undefined) return undefined;
  const common = commonLengthBackwards(child.label, text, at);
  work.spend(common);
  return common === child.label.length ? child : undefined;
}
