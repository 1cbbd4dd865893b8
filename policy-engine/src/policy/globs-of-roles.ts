import type { Steps } from '../steps/steps.ts';
import type { CompiledAssertion } from './assertion.ts';
import { counts, inOrder } from './assertion-group.ts';
import { type Glance, matchesGiven } from './glance.ts';
import type { Search } from './search.ts';
import { groupInSteps, sliceLength } from './steps.ts';

/** Up to here a role's globs are compared faster than found by what they have in common (see bench/). */
const longestRow = 12;
const longestText = 256;
const fewRoles = 3;

/** The globs of the resources of each role, for callers with few roles. */
export class GlobsOfRoles {
  readonly #rows = new Map<string, readonly CompiledAssertion[]>();
  /** Roles with too many of them, or too long ones. */
  readonly #long = new Set<string>();

  /** All have roles without a wildcard. */
  static *build(assertions: readonly CompiledAssertion[]): Steps<GlobsOfRoles> {
    const made = new GlobsOfRoles();
    let count = 0;
    for (const [role, group] of yield* groupInSteps(assertions, (assertion) => assertion.role)) {
      if (isShort(group)) made.#rows.set(role, inOrder(group));
      else made.#long.add(role);
      count += 1;
      if (count % sliceLength === 0) yield;
    }
    return made;
  }

  /** Offers what matches, and answers true; false where many comparisons would be needed, or long ones. */
  search(search: Search): boolean {
    const { roles, name } = search;
    if (roles.length > fewRoles || name.length > longestText) return false;
    if (this.#long.size > 0 && roles.some((role) => this.#long.has(role))) return false;
    for (let at = 0; at < roles.length; at += 1) {
      const row = this.#rows.get(roles[at] ?? '');
      if (row !== undefined) searchRow(row, at, search);
    }
    return true;
  }

  /** What is seen for the only role of a caller. The name of the resource begins at `from`. */
  glance(role: string, action: string, resource: string, from: number): Glance {
    if (this.#long.size > 0 && this.#long.has(role)) return undefined;
    const row = this.#rows.get(role);
    if (row === undefined) return 'none';
    for (let at = 0; at < row.length; at += 1) {
      const assertion = row[at];
      if (assertion === undefined) break;
      const isAction = matchesGiven(assertion.action, action, 0);
      const matches = isAction && matchesGiven(assertion.resource, resource, from);
      if (matches === undefined || (matches && assertion.conditions.kind !== 'none')) return undefined;
      if (matches) return assertion;
    }
    return 'none';
  }
}

function isShort(group: readonly CompiledAssertion[]): boolean {
  return group.length <= longestRow && group.every(({ resource }) => resource.text.length <= longestText);
}

/** The first that matches is the one of its role. */
function searchRow(row: readonly CompiledAssertion[], place: number, search: Search): void {
  for (let at = 0; at < row.length; at += 1) {
    const assertion = row[at];
    if (assertion === undefined || !search.isOpen(assertion.precedence, place)) return;
    search.spend(1);
    if (!search.matchesAction(assertion.action) || !search.matchesResource(assertion.resource)) continue;
    if (!counts(assertion, search)) continue;
    search.offer(assertion, place);
    return;
  }
}
