import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { top } from './constants.ts';

/** Acceptance of a size: an answer, or an error for a refusal. */
export type IsAccepted = (size: number, t: ExecutionContext) => unknown;

/** Test of a bound. */
export type Row = {
  /** Relative to the top. */
  readonly file: string;
  readonly constant: string;
} & (
  | { readonly kind: 'maximum' | 'minimum'; readonly isAccepted: IsAccepted }
  /** A threshold between two ways to the same answer: it holds on both sides. */
  | { readonly kind: 'same'; readonly holds: IsAccepted }
  /** A test elsewhere tries the bound and one past it: its file below `test`, and its title as it is written there. */
  | { readonly kind: 'elsewhere'; readonly test: string; readonly title: string }
  /** No input reaches it, and why. */
  | { readonly kind: 'inner'; readonly why: string }
);

/** Upper bound: the bound is accepted, one more is not. */
export function maximum(file: string, constant: string, isAccepted: IsAccepted): Row {
  return { file, constant, kind: 'maximum', isAccepted };
}

/** Lower bound: the bound is accepted, one less is not. */
export function minimum(file: string, constant: string, isAccepted: IsAccepted): Row {
  return { file, constant, kind: 'minimum', isAccepted };
}

export function same(file: string, constant: string, holds: IsAccepted): Row {
  return { file, constant, kind: 'same', holds };
}

export function elsewhere(file: string, constant: string, test: string, title: string): Row {
  return { file, constant, kind: 'elsewhere', test, title };
}

export function inner(file: string, constant: string, why: string): Row {
  return { file, constant, kind: 'inner', why };
}

/** Exports of a source file that its package keeps to itself. */
export async function internals<Exports>(file: string): Promise<Exports> {
  return await import(join(top, file));
}

/** The message of the error that this throws; empty when it throws none. */
export async function refusal(work: () => unknown): Promise<string> {
  try {
    await work();
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
