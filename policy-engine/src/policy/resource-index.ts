import { type CompiledAssertion, countsIn } from './assertion.ts';
import { patternMatches } from './pattern.ts';
import { type Steps, sliceLength } from './pattern-index.ts';
import { emptyTrie, nextNode, type TrieNode, trieNode } from './radix-trie.ts';
import { RoleIndex } from './role-index.ts';
import { indexActions } from './rule-index.ts';
import type { Search } from './search.ts';

/** Up to here a chain is faster than an index by role (see bench/). */
const longestChain = 6;

/** The assertions of one resource or prefix: a few, chained by precedence and rank, or many by their roles. */
type Leaf = CompiledAssertion | RoleIndex;

/**
 * From a whole resource name to the assertions of all roles that are written for it or for a prefix of it: one look-up
 * whatever number of roles a caller has. A text has few prefixes, so nothing is looked at that does not fit.
 */
export class ResourceIndex {
  readonly #exact = new Map<string, Leaf>();
  readonly #prefixes: TrieNode<Leaf> = emptyTrie();
  #hasPrefixes = false;

  /** Builds the index of assertions whose resource is a name or a prefix, sorted by rank; `qualifier` stands before each. */
  static *build(assertions: readonly CompiledAssertion[], qualifier: string): Steps<ResourceIndex> {
    const index = new ResourceIndex();
    let count = 0;
    for (const group of yield* groupByResource(assertions)) {
      const [first] = group;
      if (first === undefined) continue;
      const leaf = group.length <= longestChain ? chained(group) : yield* RoleIndex.build(group, indexActions);
      index.#add(first, qualifier, leaf ?? first);
      count += 1;
      if (count % sliceLength === 0) yield;
    }
    return index;
  }

  #add({ resource, source }: CompiledAssertion, qualifier: string, leaf: Leaf): void {
    const name = qualifier + resource.text;
    if (resource.kind === 'exact') {
      // The policy's own string, where it is the same, so that it is held once.
      this.#exact.set(source.resource === name ? source.resource : name, leaf);
    } else {
      this.#hasPrefixes = true;
      trieNode(this.#prefixes, name).value = leaf;
    }
  }

  /** Offers every assertion that matches. `resource` is folded and has its domain. */
  search(resource: string, search: Search): void {
    const exact = this.#exact.get(resource);
    if (exact !== undefined) searchLeaf(exact, search);
    if (!this.#hasPrefixes) return;
    let node: TrieNode<Leaf> | undefined = this.#prefixes;
    let at = 0;
    while (node !== undefined) {
      at += node.label.length;
      if (node.value !== undefined) searchLeaf(node.value, search);
      node = nextNode(node, resource, at, 1);
    }
  }
}

function* groupByResource(assertions: readonly CompiledAssertion[]): Steps<Iterable<CompiledAssertion[]>> {
  const groups = new Map<object, CompiledAssertion[]>();
  let count = 0;
  for (const assertion of assertions) {
    const group = groups.get(assertion.resource);
    if (group === undefined) groups.set(assertion.resource, [assertion]);
    else group.push(assertion);
    count += 1;
    if (count % sliceLength === 0) yield;
  }
  return groups.values();
}

/** The first of a chain through all. */
function chained(group: CompiledAssertion[]): CompiledAssertion | undefined {
  group.sort((a, b) => a.precedence - b.precedence || a.rank - b.rank);
  for (const [at, assertion] of group.entries()) assertion.next = group[at + 1];
  return group[0];
}

function searchLeaf(leaf: Leaf, search: Search): void {
  if (leaf instanceof RoleIndex) leaf.search(search);
  else searchChain(leaf, search);
}

function searchChain(first: CompiledAssertion, search: Search): void {
  const { action, context } = search.query;
  for (let next: CompiledAssertion | undefined = first; next !== undefined; next = next.next) {
    if (!search.isOpen(next.precedence)) return;
    if (!patternMatches(next.action, action)) continue;
    const role = placeOfRole(next, search.roles);
    if (role >= 0 && countsIn(next, context)) search.offer(next, role);
  }
}

/** The place of the first role that the assertion is for, or -1. */
function placeOfRole({ role, rolePattern }: CompiledAssertion, roles: readonly string[]): number {
  if (rolePattern === undefined) return roles.indexOf(role);
  for (let at = 0; at < roles.length; at += 1) if (patternMatches(rolePattern, roles[at] ?? '')) return at;
  return -1;
}
