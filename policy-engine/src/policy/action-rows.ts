import type { Steps } from '../steps/steps.ts';
import type { CompiledAssertion } from './assertion.ts';
import { counts, inOrder, placeOfRole } from './assertion-group.ts';
import { patternMatches } from './pattern.ts';
import type { NamedAction, Search } from './search.ts';
import { sliceLength } from './steps.ts';

/** Up to here a policy is faster without an index (see bench/). */
const longestRow = 12;

/** The actions that a policy names, and in a small one a row of assertions for each of them in place of an index. */
export class ActionRows {
  /** Whether the rows hold all that the policy has, so that no index is needed. */
  readonly isSmall: boolean;
  readonly #actions = new Map<string, NamedAction>();
  /** Of a small policy: what may match an action that it does not name. */
  #ofOtherActions: readonly CompiledAssertion[] = [];

  private constructor(isSmall: boolean) {
    this.isSmall = isSmall;
  }

  static *build(assertions: readonly CompiledAssertion[]): Steps<ActionRows> {
    const rows = new ActionRows(assertions.length <= longestRow);
    const row = rows.isSmall ? inOrder(assertions) : [];
    rows.#ofOtherActions = row.filter(({ action }) => action.kind !== 'exact');
    let count = 0;
    for (const { action } of assertions) {
      if (action.kind === 'exact' && !rows.#actions.has(action.text)) {
        const matching = row.filter(({ action: pattern }) => patternMatches(pattern, action.text));
        rows.#actions.set(action.text, { pattern: action, row: matching });
      }
      count += 1;
      if (count % sliceLength === 0) yield;
    }
    return rows;
  }

  /** The action, folded, when assertions name it. */
  named(action: string): NamedAction | undefined {
    return this.#actions.get(action);
  }

  /** Offers what matches in a small policy. */
  search(search: Search): void {
    const { named } = search;
    const row = named?.row ?? this.#ofOtherActions;
    for (let at = 0; at < row.length; at += 1) {
      const assertion = row[at];
      if (assertion === undefined || !search.isOpen(assertion.precedence, 0)) return;
      search.spend(1);
      if (named === undefined && !search.matchesAction(assertion.action)) continue;
      const place = placeWhereNamed(assertion, search);
      if (place >= 0 && counts(assertion, search)) search.offer(assertion, place);
    }
  }
}

/** So many roles are compared in less time than the name of a resource. */
const fewRoles = 4;

/** The place of the first role that the assertion is for, when it is for the resource as well; else -1. */
function placeWhereNamed(assertion: CompiledAssertion, search: Search): number {
  const isFew = search.roles.length <= fewRoles;
  if (!isFew && !search.matchesResource(assertion.resource)) return -1;
  const place = placeOfRole(assertion, search);
  return place < 0 || !isFew || search.matchesResource(assertion.resource) ? place : -1;
}
