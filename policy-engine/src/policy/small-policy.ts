import type { CompiledAssertion } from './assertion.ts';
import { counts, inOrder, placeOfRole } from './assertion-group.ts';
import { type Glance, isGiven, type Match, matchesGiven } from './glance.ts';
import { isFolded, isPattern, patternMatches } from './pattern.ts';
import { PolicyIndex } from './policy-index.ts';
import type { Search } from './search.ts';

/** Up to here a policy is faster without an index (see bench/). Each has one bit of a number. */
export const longestRow = 12;

/** An assertion, and its resource in full where that has no wildcard. */
interface RowEntry {
  readonly assertion: CompiledAssertion;
  readonly text: string | undefined;
}

/** Of the last unit of a text five bits, which a letter and its capital have in common. */
function endOf(text: string): number {
  return text.charCodeAt(text.length - 1) & 31;
}

/** For each end of a resource what may match it, one bit each. */
function bitsOfEnds(row: readonly RowEntry[]): Int32Array {
  const bits = new Int32Array(32);
  for (const [at, { assertion, text }] of row.entries()) {
    const { kind, text: pattern } = assertion.resource;
    const fixed = text ?? (kind === 'glob' && !isPattern(pattern.slice(-1)) ? pattern : undefined);
    for (const end of fixed === undefined ? bits.keys() : [endOf(fixed)]) bits[end] = (bits[end] ?? 0) | (1 << at);
  }
  return bits;
}

/**
 * A small policy: its assertions in the order in which they can decide, and for each role and each action that it names which of them it
 * matches, one bit each: what a question is about is where the two have a bit in common.
 */
export class SmallPolicy extends PolicyIndex {
  readonly #row: readonly RowEntry[];
  readonly #ofRoles = new Map<string, number>();
  readonly #ofActions = new Map<string, number>();
  /** What may match a role, and an action, that it does not name. */
  readonly #ofOtherRoles: number;
  readonly #ofOtherActions: number;
  /** What may match a resource by its end (`endOf`): most names differ there. */
  readonly #ofEnds: Int32Array;
  readonly #nameStart: number;

  /** `prefix` stands before the names of resources. */
  constructor(assertions: readonly CompiledAssertion[], prefix: string) {
    super();
    this.#nameStart = prefix.length;
    const row = inOrder(assertions);
    this.#row = row.map((assertion) => {
      const { kind, text: name } = assertion.resource;
      return { assertion, text: kind === 'exact' ? prefix + name : undefined };
    });
    this.#ofEnds = bitsOfEnds(this.#row);
    const bitsOf = (matches: (one: CompiledAssertion) => boolean) =>
      row.reduce((bits, one, at) => (matches(one) ? bits | (1 << at) : bits), 0);
    for (const { role, rolePattern, action } of row) {
      const hasRole = (one: CompiledAssertion) => isOfRole(one, role);
      const hasAction = (one: CompiledAssertion) => patternMatches(one.action, action.text);
      if (rolePattern === undefined) this.#ofRoles.set(role, bitsOf(hasRole));
      if (action.kind === 'exact') this.#ofActions.set(action.text, bitsOf(hasAction));
    }
    this.#ofOtherRoles = bitsOf(({ rolePattern }) => rolePattern !== undefined);
    this.#ofOtherActions = bitsOf(({ action }) => action.kind !== 'exact');
  }

  glance(role: string, action: string, resource: string): Glance {
    const ofRole = this.#ofRoles.get(role);
    const bits = ofRole ?? this.#ofOtherRoles;
    const otherRole = ofRole === undefined ? role : undefined;
    if ((bits & (bits - 1)) === 0) return this.#glanceAtOnly(bits, otherRole, action, resource);
    const ofAction = this.#ofActions.get(action);
    // Folded, it may be an action that is named.
    if (ofAction === undefined && this.#ofActions.size > 0 && !isFolded(action)) return undefined;
    const otherAction = ofAction === undefined ? action : undefined;
    return this.#glanceAt(bits & (ofAction ?? this.#ofOtherActions), otherRole, otherAction, resource);
  }

  /** For the one assertion that is left, or none: its action is compared sooner than it is looked up. */
  #glanceAtOnly(bit: number, role: string | undefined, action: string, resource: string): Glance {
    if (bit === 0) return 'none';
    const matches = matchesGiven(this.#entryAt(bit).assertion.action, action, 0);
    if (matches !== true) return matches === undefined ? undefined : 'none';
    return this.#glanceAt(bit, role, undefined, resource);
  }

  /** Role and action are given where they are not named, and so not compared yet. */
  #glanceAt(bits: number, role: string | undefined, action: string | undefined, resource: string): Glance {
    if (bits === 0) return 'none';
    for (let left = bits & (this.#ofEnds[endOf(resource)] ?? 0); left !== 0; left &= left - 1) {
      const entry = this.#entryAt(left & -left);
      const matches = isMeant(entry, role, action, resource, this.#nameStart);
      if (matches === undefined || (matches && entry.assertion.conditions.kind !== 'none')) return undefined;
      if (matches) return entry.assertion;
    }
    return 'none';
  }

  #entryAt(bit: number): RowEntry {
    const entry = this.#row[31 - Math.clz32(bit)];
    if (entry === undefined) throw new RangeError('no such assertion');
    return entry;
  }

  search(search: Search): void {
    const named = this.#ofActions.get(search.givenAction) ?? this.#ofActions.get(search.action);
    let bits = named ?? this.#ofOtherActions;
    for (let at = 0; bits !== 0; at += 1, bits >>>= 1) {
      const entry = this.#row[at];
      if ((bits & 1) === 0 || entry === undefined) continue;
      if (!search.isOpen(entry.assertion.precedence, 0)) return;
      search.spend(1);
      const place = placeWhereNamed(entry, search);
      if (place < 0 || (named === undefined && !search.matchesAction(entry.assertion.action))) continue;
      if (counts(entry.assertion, search)) search.offer(entry.assertion, place);
    }
  }
}

function isOfRole({ role, rolePattern }: CompiledAssertion, held: string): boolean {
  return rolePattern === undefined ? role === held : patternMatches(rolePattern, held);
}

/** Whether an assertion matches, as far as that is not known yet. The whole resource comes last, as its end is known to fit. */
// biome-ignore lint/complexity/useMaxParams: an object for them takes longer to make than to compare
function isMeant(
  { assertion, text }: RowEntry,
  role: string | undefined,
  action: string | undefined,
  resource: string,
  nameStart: number,
): Match {
  let matches: Match = action === undefined || matchesGiven(assertion.action, action, 0);
  if (matches && role !== undefined) matches = assertion.rolePattern && matchesGiven(assertion.rolePattern, role, 0);
  if (!matches) return matches;
  return text === undefined ? matchesGiven(assertion.resource, resource, nameStart) : isGiven(text, resource);
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
