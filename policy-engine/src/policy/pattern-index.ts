import type { Steps } from '../steps/steps.ts';
import { sliceLength } from './group-in-steps.ts';
import { type Literal, literalsOf, type Pattern, patternMatches } from './pattern.ts';
import type { Search } from './search.ts';

/** Anything that is found by a pattern. `rank` is the lowest one of its assertions. */
export interface Ranked {
  readonly rank: number;
}

/** A value and its pattern. */
export interface PatternEntry<T> {
  readonly pattern: Pattern;
  readonly value: T;
}

/** Maximum number of patterns that are compared one by one: looking literals up would take longer. */
const maxScanned = 16;

/** Work of looking one literal up, beside its characters. */
const lookUpWork = 16;

/** Patterns that share where one of their literals stands in a text: at its start, at its end or inside. */
class LiteralTable<T> {
  /** Ascending. */
  readonly lengths: number[] = [];
  readonly #entries = new Map<string, PatternEntry<T>[]>();
  /** Bit set of the first units of the literals, by their lower five bits. */
  #firstUnits = 0;

  add(literal: string, entry: PatternEntry<T>): void {
    const known = this.#entries.get(literal);
    if (known !== undefined) {
      known.push(entry);
      return;
    }
    this.#entries.set(literal, [entry]);
    this.#firstUnits |= 1 << (literal.charCodeAt(0) & 31);
    const { length } = literal;
    const at = this.lengths.findIndex((one) => one >= length);
    if (at < 0) this.lengths.push(length);
    else if (this.lengths[at] !== length) this.lengths.splice(at, 0, length);
  }

  mayStartAt(text: string, at: number): boolean {
    return ((this.#firstUnits >>> (text.charCodeAt(at) & 31)) & 1) !== 0;
  }

  /** The entries whose literal is that part of the text. */
  entriesAt(text: string, from: number, length: number, search: Search): readonly PatternEntry<T>[] {
    if (from < 0 || from + length > text.length) return [];
    search.spend(lookUpWork + length);
    return this.#entries.get(text.slice(from, from + length)) ?? [];
  }
}

/**
 * Index from a text to the values of all patterns that match it. Each of many patterns is kept by its rarest literal, so that only those are
 * compared whose literal is in the text. Every look-up and comparison is charged to the search.
 */
export class PatternIndex<T extends Ranked> {
  /** Few patterns, and those without a literal. */
  readonly #unsorted: PatternEntry<T>[] = [];
  #tables: Readonly<Record<Literal['position'], LiteralTable<T>>> | undefined;

  static *build<T extends Ranked>(entries: readonly PatternEntry<T>[]): Steps<PatternIndex<T> | undefined> {
    if (entries.length === 0) return undefined;
    const index = new PatternIndex<T>();
    if (entries.length <= maxScanned) {
      index.#unsorted.push(...entries);
      return index;
    }
    const counts = yield* countLiterals(entries);
    const tables = { start: new LiteralTable<T>(), inside: new LiteralTable<T>(), end: new LiteralTable<T>() };
    index.#tables = tables;
    let count = 0;
    for (const entry of entries) {
      const literal = rarestOf(literalsOf(entry.pattern), counts);
      if (literal === undefined) index.#unsorted.push(entry);
      else tables[literal.position].add(literal.text, entry);
      count += 1;
      if (count % sliceLength === 0) yield;
    }
    return index;
  }

  /** Calls `take` with the value of each pattern that matches, unless what was found ranks before it. */
  visit(text: string, search: Search, take: (value: T, search: Search) => void): void {
    visitEntries(this.#unsorted, text, search, take);
    if (this.#tables === undefined) return;
    const { start, inside, end } = this.#tables;
    for (const length of start.lengths) visitEntries(start.entriesAt(text, 0, length, search), text, search, take);
    for (const length of end.lengths) {
      visitEntries(end.entriesAt(text, text.length - length, length, search), text, search, take);
    }
    if (inside.lengths.length === 0) return;
    search.spend(text.length);
    for (let at = 0; at < text.length; at += 1) {
      if (!inside.mayStartAt(text, at)) continue;
      for (const length of inside.lengths) visitEntries(inside.entriesAt(text, at, length, search), text, search, take);
    }
  }
}

function visitEntries<T extends Ranked>(
  entries: readonly PatternEntry<T>[],
  text: string,
  search: Search,
  take: (value: T, search: Search) => void,
): void {
  for (const { pattern, value } of entries) {
    search.spend(1);
    if (search.isBefore(value) && patternMatches(pattern, text, search)) take(value, search);
  }
}

type Counts = ReadonlyMap<string, number>;

const keyOf = ({ position, text }: Literal): string => `${position}:${text}`;

/** How many patterns have each literal, of those with several literals. */
function* countLiterals(entries: readonly PatternEntry<unknown>[]): Steps<Counts> {
  const counts = new Map<string, number>();
  let count = 0;
  for (const { pattern } of entries) {
    const literals = literalsOf(pattern);
    if (literals.length > 1) {
      for (const literal of literals) counts.set(keyOf(literal), (counts.get(keyOf(literal)) ?? 0) + 1);
    }
    count += 1;
    if (count % sliceLength === 0) yield;
  }
  return counts;
}

/** The literal that the fewest patterns have, of several the longest. */
function rarestOf(literals: readonly Literal[], counts: Counts): Literal | undefined {
  if (literals.length <= 1) return literals[0];
  const countOf = (literal: Literal): number => counts.get(keyOf(literal)) ?? 0;
  return literals.toSorted((a, b) => countOf(a) - countOf(b) || b.text.length - a.text.length)[0];
}
