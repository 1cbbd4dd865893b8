import type { CompiledAssertion } from './assertion.ts';
import { counts, inOrder, placeOfRole } from './assertion-group.ts';
import { beginsWith } from './begins-with.ts';
import { type Glance, isForRole, isGiven, type Match, matchesGiven } from './glance.ts';
import { placeOfName } from './name-hash.ts';
import { isPattern, type Pattern } from './pattern.ts';
import { PolicyIndex } from './policy-index.ts';
import type { Search } from './search.ts';
import { maxActionLength } from './work.ts';

/** Up to here a policy is faster without an index (see bench/). Each has one bit of a number. */
export const longestRow = 12;

/** An assertion, and its resource in full where that has no wildcard. */
interface RowEntry {
  readonly assertion: CompiledAssertion;
  readonly text: string | undefined;
}

/** How many places there are for names of roles, of actions, for lengths and for ends of resources, one behind the other. */
const places = 32;
const [actionsFrom, lengthsFrom, endsFrom] = [places, 2 * places, 3 * places];

// Functions that most decisions call are constants: of a declaration the compiler asks at each call whether it is still the same (record 091).

const lastUnit = (text: string): number => text.charCodeAt(text.length - 1);

const placeOf = (name: string): number => placeOfName(name.length, lastUnit(name));

/** The place of so much of a name, or of all of a shorter one. */
const placeOfBeginning = (name: string, atMost: number): number => {
  let { length } = name;
  // The compiler takes `Math.min` for one of fractions.
  if (length > atMost) length = atMost;
  return placeOfName(length, name.charCodeAt(length - 1));
};

const placeOfLength = (length: number): number => length & (places - 1);

/** The place of the end of a resource. */
const placeOfEnd = (text: string): number => lastUnit(text) & (places - 1);

/**
 * A small policy: its assertions in the order in which they can decide, and for each place of roles, of actions, of lengths and of ends which
 * of them may match what has that place, one bit each. Only what all have in common is compared.
 */
export class SmallPolicy extends PolicyIndex {
  readonly #row: readonly RowEntry[];
  readonly #bits = new Int32Array(4 * places);
  readonly #prefix: string;
  /** Those whose resources have wildcards. */
  readonly #patterns: number;
  /** How long the shortest of the actions that are prefixes is: so much of every action tells its place. The longest length when none is one. */
  readonly #actionLength: number;

  /** `prefix` stands before the names of resources. */
  constructor(assertions: readonly CompiledAssertion[], prefix: string) {
    super();
    this.#prefix = prefix;
    this.#row = inOrder(assertions).map((assertion) => {
      const { kind, text } = assertion.resource;
      return { assertion, text: kind === 'exact' ? prefix + text : undefined };
    });
    this.#actionLength = shortestActionPrefix(assertions);
    let patterns = 0;
    for (const [at, { assertion, text }] of this.#row.entries()) {
      if (text === undefined) patterns |= 1 << at;
      const { role, rolePattern, action, resource } = assertion;
      const end = text ?? endOfGlob(resource);
      this.#add(1 << at, 0, rolePattern === undefined ? placeOf(role) : undefined);
      const isPlain = action.kind === 'exact' || action.kind === 'prefix';
      this.#add(1 << at, actionsFrom, isPlain ? placeOfBeginning(action.text, this.#actionLength) : undefined);
      this.#add(1 << at, lengthsFrom, text === undefined ? undefined : placeOfLength(text.length));
      this.#add(1 << at, endsFrom, end === undefined ? undefined : placeOfEnd(end));
    }
    this.#patterns = patterns;
  }

  glance(role: string, action: string, resource: string): Glance {
    // First what takes no look into a text.
    let left = this.#ofLength(resource.length);
    if (left !== 0) left &= this.#at(placeOf(role));
    if (left !== 0) left &= this.#ofAction(action);
    if (left !== 0) return this.#glanceAmong(left, role, action, resource);
    return beginsWith(resource, this.#prefix) ? null : undefined;
  }

  search(search: Search): void {
    for (let left = this.#ofAction(search.givenAction); left !== 0; left &= left - 1) {
      const entry = this.#entryAt(left & -left);
      if (!search.isOpen(entry.assertion.precedence, 0)) return;
      search.spend(1);
      if (!search.matchesAction(entry.assertion.action)) continue;
      const place = placeWhereNamed(entry, search);
      if (place >= 0 && counts(entry.assertion, search)) search.offer(entry.assertion, place);
    }
  }

  /** What decides among some. A resource is looked into as late as can be: where it was just put together, that takes longer than all the rest. */
  #glanceAmong(those: number, role: string, action: string, resource: string): Glance {
    if ((those & (those - 1)) === 0 && (those & this.#patterns) === 0) {
      // One, for a name, which holds its domain.
      const seen = glanceAtName(this.#entryAt(those), role, action, resource);
      return seen !== null || beginsWith(resource, this.#prefix) ? seen : undefined;
    }
    if (!beginsWith(resource, this.#prefix)) return undefined;
    return this.#glanceAt(those & this.#at(endsFrom + placeOfEnd(resource)), role, action, resource);
  }

  /** What decides among those that are left. */
  #glanceAt(those: number, role: string, action: string, resource: string): Glance {
    for (let left = those; left !== 0; left &= left - 1) {
      const { assertion, text } = this.#entryAt(left & -left);
      // The resource first: whoever asks for it mostly has a role and an action that go with it.
      const isAsked =
        text === undefined ? matchesGiven(assertion.resource, resource, this.#prefix.length) : isGiven(text, resource);
      const seen = glanceAtRest(isAsked, assertion, role, action);
      if (seen !== null) return seen;
    }
    return null;
  }

  /** Those that may match an action. */
  #ofAction(action: string): number {
    return this.#at(actionsFrom + placeOfBeginning(action, this.#actionLength));
  }

  /** Those that may match a resource of that length. */
  #ofLength(length: number): number {
    return this.#at(lengthsFrom + placeOfLength(length));
  }

  #at(place: number): number {
    return this.#bits[place] as number;
  }

  #entryAt(bit: number): RowEntry {
    const entry = this.#row[31 - Math.clz32(bit)];
    if (entry === undefined) throw new RangeError('no such assertion');
    return entry;
  }

  /** Adds an assertion at a place, or at all of them. */
  #add(bit: number, from: number, place: number | undefined): void {
    const [first, last] = place === undefined ? [0, places - 1] : [place, place];
    for (let at = from + first; at <= from + last; at += 1) this.#bits[at] = (this.#bits[at] ?? 0) | bit;
  }
}

/** Whether an assertion for a name decides. A text that was just put together is compared with `beginsWith` in less time than in any other way. */
const glanceAtName = ({ assertion, text }: RowEntry, role: string, action: string, resource: string): Glance => {
  if (text === undefined) return undefined;
  if (text.length !== resource.length) return null;
  return glanceAtRest(beginsWith(resource, text) || isGiven(text, resource), assertion, role, action);
};

/** Whether an assertion decides of which is known whether the resource is its own. */
const glanceAtRest = (isAsked: Match, assertion: CompiledAssertion, role: string, action: string): Glance => {
  if (isAsked === false) return null;
  const matches = matchesGiven(assertion.action, action, 0) && isForRole(assertion, role);
  if (matches === false) return null;
  return isAsked && matches ? assertion : undefined;
};

/** The length of the shortest action that is a prefix; the longest length when none is one. */
function shortestActionPrefix(assertions: readonly CompiledAssertion[]): number {
  const prefixes = assertions.filter(({ action }) => action.kind === 'prefix');
  return Math.min(maxActionLength, ...prefixes.map(({ action }) => action.text.length));
}

/** A glob that ends with a literal. */
function endOfGlob({ kind, text }: Pattern): string | undefined {
  return kind === 'glob' && !isPattern(text.slice(-1)) ? text : undefined;
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
