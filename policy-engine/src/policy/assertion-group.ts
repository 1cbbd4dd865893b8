import { type CompiledAssertion, countsIn } from './assertion.ts';
import { type Glance, isForRole, longestLook, matchesGiven } from './glance.ts';
import { patternMatches } from './pattern.ts';
import type { Search } from './search.ts';

/** Some assertions that can be searched for those that match: a few as a chain, which is its first one, many behind an index. */
export type AssertionGroup = CompiledAssertion | AssertionIndex;

/** Many assertions, of which a search only looks at those that can match. */
export abstract class AssertionIndex {
  /** The name with its domain that all are for, once it was asked for. */
  name: string | undefined;

  /** Offers what matches; nothing that cannot take the place of what was found. */
  abstract search(search: Search): void;

  /** What is seen for the only role of a caller who asks for the action; without one where the way to it has compared the action. */
  abstract glance(role: string, action: string | undefined): Glance;
}

/** The order in which assertions can decide. */
export function inOrder(group: readonly CompiledAssertion[]): readonly CompiledAssertion[] {
  return group.toSorted((a, b) => a.precedence - b.precedence || a.rank - b.rank);
}

/** Chains assertions in the order in which they can decide. The list is one at least, sorted by rank. */
export function chained(group: readonly CompiledAssertion[]): CompiledAssertion {
  const sorted = group.length === 1 ? group : inOrder(group);
  const [first] = sorted;
  if (first === undefined) throw new RangeError('there is nothing to chain');
  for (const [at, assertion] of sorted.entries()) assertion.next = sorted[at + 1];
  return first;
}

/** What is seen of assertions whose resource the way to them has compared, and the action if it is not given. */
export function glanceAtGroup(group: AssertionGroup, role: string, action: string | undefined): Glance {
  // Told by a member that one of them has: to walk up the prototypes of an object takes longer.
  if (!('rank' in group)) return group.glance(role, action);
  let next: CompiledAssertion | undefined = group;
  for (let left = longestLook; left > 0; left -= 1) {
    if (next === undefined) return null;
    const isHeld = isForRole(next, role);
    const matches = isHeld && (action === undefined || matchesGiven(next.action, action, 0));
    if (matches === undefined) return undefined;
    if (matches) return next;
    next = next.next;
  }
  return undefined;
}

/** Offers what matches. The way to the assertions has compared the resource, and the role if the search is at the place of one. */
export function searchGroup(group: AssertionGroup, search: Search): void {
  if (group instanceof AssertionIndex) group.search(search);
  else if (search.place < 0) searchAllRoles(group, search);
  else searchOneRole(group, search);
}

/**
 * Whether it is worth comparing a text with a glob for the sake of these assertions: that costs more than all the rest. Many globs
 * with the same literals would otherwise be felt by callers whose roles none of them names.
 */
export function mayOffer(group: AssertionGroup, search: Search): boolean {
  if (group instanceof AssertionIndex || search.place >= 0) return true;
  for (let next: CompiledAssertion | undefined = group; next !== undefined; next = next.next) {
    search.spend(1);
    const place = search.matchesAction(next.action) ? placeOfRole(next, search) : -1;
    if (place >= 0 && search.isBetter(next, place)) return true;
  }
  return false;
}

function searchAllRoles(first: CompiledAssertion, search: Search): void {
  for (let next: CompiledAssertion | undefined = first; next !== undefined; next = next.next) {
    if (!search.isOpen(next.precedence, 0)) return;
    search.spend(1);
    if (!search.matchesAction(next.action)) continue;
    const place = placeOfRole(next, search);
    if (place >= 0 && counts(next, search)) search.offer(next, place);
  }
}

/** All of one precedence: the first that matches is the one. */
function searchOneRole(first: CompiledAssertion, search: Search): void {
  const { place } = search;
  for (let next: CompiledAssertion | undefined = first; next !== undefined; next = next.next) {
    search.spend(1);
    if (!search.matchesAction(next.action) || !counts(next, search)) continue;
    search.offer(next, place);
    return;
  }
}

/** So many are compared in less time than a call takes. */
const fewRoles = 8;

/** The place of the first role that the assertion is for, or -1. */
export function placeOfRole({ role, rolePattern }: CompiledAssertion, search: Search): number {
  const { roles } = search;
  search.spend(roles.length);
  if (rolePattern === undefined) return placeOf(role, roles);
  for (let at = 0; at < roles.length; at += 1) if (patternMatches(rolePattern, roles[at] ?? '', search)) return at;
  return -1;
}

/** As the method of arrays, for a few. */
function placeOf(role: string, roles: readonly string[]): number {
  if (roles.length > fewRoles) return roles.indexOf(role);
  for (let at = 0; at < roles.length; at += 1) if (roles[at] === role) return at;
  return -1;
}

/** Whether its conditions let the assertion count. */
export function counts(assertion: CompiledAssertion, search: Search): boolean {
  if (assertion.conditions.kind === 'none') return true;
  search.spend(assertion.conditionCost);
  return countsIn(assertion, search.context);
}
