import type { Steps } from '../steps/steps.ts';
import type { CompiledAssertion } from './assertion.ts';
import { counts, inOrder, placeOfRole } from './assertion-group.ts';
import { type Pattern, patternMatches } from './pattern.ts';
import type { NamedAction, Search } from './search.ts';
import { sliceLength } from './steps.ts';

/** Assertions that are looked at one after the other, in the order in which they can decide. */
type Row = readonly CompiledAssertion[];

/** A row with the actions beside it: most assertions are told apart by these, without being looked at. */
interface RoleRow {
  readonly actions: readonly Pattern[];
  readonly assertions: Row;
}

/** Up to here a row is faster than an index (see bench/). */
const longestRow = 12;
/** Callers with more roles are faster with the index than with a row for each of them. */
const mostRolesInRows = 2;

/** Stands for all patterns of roles together; no role is called so, as it is one itself. */
const ofPatterns = '*';

/** Stands for assertions that are too many for a row. */
const tooMany: RoleRow = { actions: [], assertions: [] };

/**
 * Rows of a domain: where its assertions are few, those for each action; else those of each role whose resource has a wildcard, and those of all
 * patterns of roles. They stand in for the index where that costs more.
 */
export class AssertionRows {
  /** Whether the rows hold all that the policy has, so that no index is needed. */
  readonly isSmall: boolean;
  readonly #actions = new Map<string, NamedAction>();
  /** Of a small policy: what may match an action that none names. */
  #ofOtherActions: Row = [];
  /** Of each plain role. */
  readonly #byRole = new Map<string, RoleRow>();
  /** Of the patterns of roles, if there are any. */
  #ofPatterns: RoleRow | undefined;

  private constructor(isSmall: boolean) {
    this.isSmall = isSmall;
  }

  /** Of assertions that are sorted by rank. */
  static *build(assertions: readonly CompiledAssertion[]): Steps<AssertionRows> {
    const rows = new AssertionRows(assertions.length <= longestRow);
    if (rows.isSmall) rows.#addSmall(assertions);
    else yield* rows.#addMany(assertions);
    return rows;
  }

  /** The action, folded, when assertions name it. */
  named(action: string): NamedAction | undefined {
    return this.#actions.get(action);
  }

  /** Offers what matches in a small policy. */
  searchSmall(search: Search): void {
    const { named } = search;
    const row = named?.row ?? this.#ofOtherActions;
    for (let at = 0; at < row.length; at += 1) {
      const assertion = row[at];
      if (assertion === undefined || !search.isOpen(assertion.precedence, 0)) return;
      search.spend(1);
      if (named === undefined && !search.matchesAction(assertion.action)) continue;
      if (search.matchesResource(assertion.resource)) offerForRoles(assertion, search);
    }
  }

  /** Offers what matches of the assertions whose resource has a wildcard; false where the index has to be asked for these. */
  searchRoles(search: Search): boolean {
    const { roles } = search;
    if (roles.length > mostRolesInRows || this.#ofPatterns === tooMany) return false;
    for (let at = 0; at < roles.length; at += 1) {
      const row = this.#byRole.get(roles[at] ?? '');
      if (row === tooMany) return false;
      if (row !== undefined) searchRowOfRole(row, at, search);
    }
    if (this.#ofPatterns !== undefined) searchRowOfPatterns(this.#ofPatterns, search);
    return true;
  }

  #addSmall(assertions: readonly CompiledAssertion[]): void {
    const row = inOrder(assertions);
    this.#ofOtherActions = row.filter(({ action }) => action.kind !== 'exact');
    for (const { action: pattern } of row) {
      if (pattern.kind !== 'exact' || this.#actions.has(pattern.text)) continue;
      const matching = row.filter(({ action }) => patternMatches(action, pattern.text));
      this.#actions.set(pattern.text, { pattern, row: matching });
    }
  }

  *#addMany(assertions: readonly CompiledAssertion[]): Steps<void> {
    const byRole = new Map<string, CompiledAssertion[]>();
    let count = 0;
    for (const assertion of assertions) {
      this.#addAction(assertion);
      if (assertion.resource.kind !== 'exact') addToRow(byRole, assertion);
      count += 1;
      if (count % sliceLength === 0) yield;
    }
    for (const [role, row] of byRole) {
      if (role === ofPatterns) this.#ofPatterns = rowOf(row);
      else this.#byRole.set(role, rowOf(row));
      count += 1;
      if (count % sliceLength === 0) yield;
    }
  }

  #addAction({ action: pattern }: CompiledAssertion): void {
    if (pattern.kind !== 'exact' || this.#actions.has(pattern.text)) return;
    this.#actions.set(pattern.text, { pattern, row: [] });
  }
}

/** One more than fits is enough to tell that they are too many. */
function addToRow(rows: Map<string, CompiledAssertion[]>, assertion: CompiledAssertion): void {
  const role = assertion.rolePattern === undefined ? assertion.role : ofPatterns;
  const row = rows.get(role);
  if (row === undefined) rows.set(role, [assertion]);
  else if (row.length <= longestRow) row.push(assertion);
}

function rowOf(group: readonly CompiledAssertion[]): RoleRow {
  if (group.length > longestRow) return tooMany;
  const assertions = inOrder(group);
  return { actions: assertions.map(({ action }) => action), assertions };
}

/** The first that matches is the one: DENY stands before ALLOW, and all are for the role. */
function searchRowOfRole({ actions, assertions }: RoleRow, place: number, search: Search): void {
  for (let at = 0; at < actions.length; at += 1) {
    const assertion = nextFor(actions, assertions, at, search);
    if (assertion === undefined || !search.matchesResource(assertion.resource) || !counts(assertion, search)) continue;
    search.offer(assertion, place);
    return;
  }
}

function searchRowOfPatterns({ actions, assertions }: RoleRow, search: Search): void {
  for (let at = 0; at < actions.length; at += 1) {
    const assertion = nextFor(actions, assertions, at, search);
    if (assertion !== undefined && search.matchesResource(assertion.resource)) offerForRoles(assertion, search);
  }
}

/** The assertion at a place of a row, if it is for the action. */
function nextFor(
  actions: readonly Pattern[],
  assertions: Row,
  at: number,
  search: Search,
): CompiledAssertion | undefined {
  const action = actions[at];
  search.spend(1);
  return action !== undefined && search.matchesAction(action) ? assertions[at] : undefined;
}

function offerForRoles(assertion: CompiledAssertion, search: Search): void {
  const place = placeOfRole(assertion, search);
  if (place >= 0 && counts(assertion, search)) search.offer(assertion, place);
}
