/*
 * Patterns (`*` any run, `?` one character) cut the set of all strings into atoms: two strings are in the same atom when
 * exactly the same patterns match them. The atoms are found by walking the joint states of all patterns, shortest strings
 * first; a state holds only the patterns that can still match, so that a thousand exact or prefix patterns cost what a
 * trie of them costs.
 */

import { Work } from './work.ts';

/** A set of strings that no pattern tells apart. */
export interface Atom {
  /** A text of the atom. */
  readonly example: string;
  /** Matching patterns, by their index. */
  readonly matches: ReadonlySet<number>;
}

/** The patterns are too entangled: too many joint states to walk. */
export class PatternsTooComplexError extends Error {
  override readonly name = 'PatternsTooComplexError';
}

const star = Symbol('star');
const anyOne = Symbol('anyOne');
type Glob = readonly (string | typeof star | typeof anyOne)[];

/** Pattern index to the sorted positions that it can be at; patterns that can no longer match are left out. */
type State = ReadonlyMap<number, readonly number[]>;

/** Stands for every character that no live pattern names. */
const other = '\u{10ffff}';

function parseGlob(pattern: string): Glob {
  return Array.from(pattern, (character) => (character === '*' ? star : character === '?' ? anyOne : character));
}

/** An entry of a state is moved on, looked at and written into a key. */
const stepsAnEntry = 10;

/** Positions reachable without reading: a `*` may stand for nothing. */
function settle(glob: Glob, positions: Iterable<number>): readonly number[] {
  const reached = new Set<number>();
  for (const start of positions) {
    let position = start;
    reached.add(position);
    while (glob[position] === star) reached.add(++position);
  }
  return [...reached].sort((a, b) => a - b);
}

function step(glob: Glob, positions: readonly number[], character: string): readonly number[] {
  const next: number[] = [];
  for (const position of positions) {
    const symbol = glob[position];
    if (symbol === star) next.push(position);
    else if (symbol === anyOne || symbol === character) next.push(position + 1);
  }
  return next.length === 0 ? next : settle(glob, next);
}

function advance(globs: readonly Glob[], state: State, character: string, work: Work): State {
  work.spend(stepsAnEntry * (1 + state.size));
  const next = new Map<number, readonly number[]>();
  for (const [index, positions] of state) {
    const moved = step(globs[index] ?? [], positions, character);
    if (moved.length > 0) next.set(index, moved);
  }
  return next;
}

/** The characters on which a state branches: those that a live pattern names next, and one for all the rest. */
function branches(globs: readonly Glob[], state: State): Set<string> {
  const found = new Set<string>([other]);
  for (const [index, positions] of state) {
    for (const position of positions) {
      const symbol = globs[index]?.[position];
      if (typeof symbol === 'string') found.add(symbol);
    }
  }
  return found;
}

function accepted(globs: readonly Glob[], state: State): Set<number> {
  const found = new Set<number>();
  for (const [index, positions] of state) {
    if (positions.at(-1) === globs[index]?.length) found.add(index);
  }
  return found;
}

function keyOf(state: State): string {
  let key = '';
  for (const [index, positions] of state) key += `${index}:${positions.join()};`;
  return key;
}

/**
 * All atoms of `patterns`, each with a short example; the atom that no pattern matches is among them. The empty text
 * counts only where `allowEmpty` is set. Throws `PatternsTooComplexError` past `maxStates` joint states, and what the work throws.
 */
export function atomsOf(
  patterns: readonly string[],
  options: { allowEmpty: boolean; maxStates?: number; work?: Work },
): Atom[] {
  const { work = new Work() } = options;
  const globs = patterns.map(parseGlob);
  const start: State = new Map(globs.map((glob, index) => [index, settle(glob, [0])]));
  const atoms = new Map<string, Atom>();
  const seen = new Set<string>();
  const limit = options.maxStates ?? 200_000;
  const queue: { state: State; text: string }[] = [{ state: start, text: '' }];
  for (const { state, text } of queue) {
    if (text !== '' || options.allowEmpty) {
      const matches = accepted(globs, state);
      const vector = [...matches].join();
      if (!atoms.has(vector)) {
        work.keep(1 + matches.size);
        atoms.set(vector, { example: readable(globs, text, vector, work), matches });
      }
    }
    for (const step of unseenSteps(globs, state, seen, work)) {
      queue.push({ state: step.state, text: text + step.character });
    }
    if (seen.size > limit) throw new PatternsTooComplexError('the patterns are too complex');
  }
  return [...atoms.values()];
}

function unseenSteps(
  globs: readonly Glob[],
  state: State,
  seen: Set<string>,
  work: Work,
): { state: State; character: string }[] {
  const steps: { state: State; character: string }[] = [];
  for (const character of branches(globs, state)) {
    const next = advance(globs, state, character, work);
    const key = keyOf(next);
    if (seen.has(key)) continue;
    work.keep(1 + next.size);
    seen.add(key);
    steps.push({ state: next, character });
  }
  return steps;
}

const fillers = ['x', 'any', 'other', '0', '_', 'q'];

/** The text with every `other` character replaced by something that people can read and that changes no match. */
function readable(globs: readonly Glob[], text: string, vector: string, work: Work): string {
  if (!text.includes(other)) return text;
  const candidates = [
    ...fillers,
    ...Array.from({ length: 26 }, (_, index) => String.fromCharCode(97 + index)),
    'ж',
    '中',
  ];
  for (const filler of candidates) {
    const candidate = text.replaceAll(other, filler);
    if (vectorOf(globs, candidate, work) === vector) return candidate;
  }
  return text;
}

function vectorOf(globs: readonly Glob[], text: string, work: Work): string {
  let state: State = new Map(globs.map((glob, index) => [index, settle(glob, [0])]));
  work.spend(stepsAnEntry * globs.length);
  for (const character of text) state = advance(globs, state, character, work);
  return [...accepted(globs, state)].join();
}
