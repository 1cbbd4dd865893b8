import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { applyMutation, findMutations, type MutationKind } from './mutations.ts';

/** A mutation of one source file, as it is told. */
export interface NamedMutant {
  /** Relative to the top. */
  readonly file: string;
  readonly url: string;
  readonly line: number;
  readonly offset: number;
  readonly kind: MutationKind;
  /** The lines before and after, without their indentation. */
  readonly from: string;
  readonly to: string;
  /** The whole text with the mutation in it. */
  readonly source: string;
}

/** A mutation that changes nothing anybody could see, and why. The lines tell which, so that it survives edits elsewhere. */
export interface Equivalent {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

/** Every mutant of a source file. */
export function mutantsOf(top: string, file: string): NamedMutant[] {
  const path = join(top, file);
  const code = readFileSync(path, 'utf8');
  return findMutations(code).map((mutation) => {
    const first = code.lastIndexOf('\n', mutation.start - 1) + 1;
    const end = code.indexOf('\n', mutation.end);
    const rest = end === -1 ? 0 : code.length - end;
    const source = applyMutation(code, mutation);
    return {
      file,
      url: pathToFileURL(path).href,
      line: code.slice(0, mutation.start).split('\n').length,
      offset: mutation.start,
      kind: mutation.kind,
      from: code.slice(first, code.length - rest).trim(),
      to: source.slice(first, source.length - rest).trim(),
      source,
    };
  });
}

export function isSame(mutant: NamedMutant, known: Equivalent): boolean {
  return mutant.file === known.file && mutant.from === known.from && mutant.to === known.to;
}

/** The items in an order that the seed alone decides. */
export function shuffle<T>(items: readonly T[], seed: number): T[] {
  const shuffled = [...items];
  const next = randomNumbers(seed);
  for (let last = shuffled.length - 1; last > 0; last -= 1) {
    const other = Math.floor(next() * (last + 1));
    [shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T];
  }
  return shuffled;
}

/** Numbers from 0 to 1 (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
