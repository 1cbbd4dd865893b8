import type { CompiledAssertion } from './assertion.ts';
import { counts, inOrder, placeOfRole } from './assertion-group.ts';
import { type Glance, isForRole, isGiven, matchesGiven } from './glance.ts';
import { isFolded, patternMatches } from './pattern.ts';
import { PolicyIndex } from './policy-index.ts';
import type { Search } from './search.ts';

/** Up to here a policy is faster without an index (see bench/). */
export const longestRow = 12;

/** An assertion, and its resource in full where that has no wildcard. */
interface RowEntry {
  readonly assertion: CompiledAssertion;
  readonly text: string | undefined;
}

/** A small policy: for each action that it names all assertions that match it, in the order in which they can decide. */
export class SmallPolicy extends PolicyIndex {
  readonly #rows = new Map<string, readonly RowEntry[]>();
  /** What may match an action that it does not name. */
  readonly #ofOtherActions: readonly RowEntry[];
  readonly #nameStart: number;

  /** `prefix` stands before the names of resources. */
  constructor(assertions: readonly CompiledAssertion[], prefix: string) {
    super();
    this.#nameStart = prefix.length;
    const row = inOrder(assertions).map((assertion): RowEntry => {
      const { kind, text } = assertion.resource;
      return { assertion, text: kind === 'exact' ? prefix + text : undefined };
    });
    this.#ofOtherActions = row.filter(({ assertion }) => assertion.action.kind !== 'exact');
    for (const { action } of assertions) {
      if (action.kind !== 'exact') continue;
      const matching = row.filter(({ assertion }) => patternMatches(assertion.action, action.text));
      this.#rows.set(action.text, matching);
    }
  }

  glance(role: string, action: string, resource: string): Glance {
    const row = this.#rows.get(action);
    // Folded, it may be an action that has a row.
    if (row === undefined && this.#rows.size > 0 && !isFolded(action)) return undefined;
    return glanceAtRow(row ?? this.#ofOtherActions, role, action, resource, this.#nameStart);
  }

  search(search: Search): void {
    const row = this.#rows.get(search.givenAction) ?? this.#rows.get(search.action);
    if (row === undefined) searchRow(this.#ofOtherActions, search, true);
    else searchRow(row, search, false);
  }
}

// biome-ignore lint/complexity/useMaxParams: an object for them takes longer to make than to look
function glanceAtRow(
  row: readonly RowEntry[],
  role: string,
  action: string,
  resource: string,
  nameStart: number,
): Glance {
  for (let at = 0; at < row.length; at += 1) {
    const entry = row[at];
    if (entry === undefined) break;
    const { assertion, text } = entry;
    let matches = isForRole(assertion, role);
    // The way to the row has compared an action without a wildcard.
    if (matches && assertion.action.kind !== 'exact') matches = matchesGiven(assertion.action, action, 0);
    if (matches)
      matches = text === undefined ? matchesGiven(assertion.resource, resource, nameStart) : isGiven(text, resource);
    if (matches === undefined) return undefined;
    if (matches) return assertion;
  }
  return 'none';
}

function searchRow(row: readonly RowEntry[], search: Search, compareActions: boolean): void {
  for (const entry of row) {
    if (!search.isOpen(entry.assertion.precedence, 0)) return;
    search.spend(1);
    const place = placeWhereNamed(entry, search);
    if (place < 0 || (compareActions && !search.matchesAction(entry.assertion.action))) continue;
    if (counts(entry.assertion, search)) search.offer(entry.assertion, place);
  }
}

/** So many roles are compared in less time than the name of a resource. */
const fewRoles = 4;

/** The place of the first role that the assertion is for, when it is for the resource as well; else -1. */
function placeWhereNamed(entry: RowEntry, search: Search): number {
  const isFew = search.roles.length <= fewRoles;
  if (!isFew && !isForResource(entry, search)) return -1;
  const place = placeOfRole(entry.assertion, search);
  return place < 0 || !isFew || isForResource(entry, search) ? place : -1;
}

function isForResource({ assertion, text }: RowEntry, search: Search): boolean {
  return text === undefined ? search.matchesResource(assertion.resource) : search.isResource(text);
}
