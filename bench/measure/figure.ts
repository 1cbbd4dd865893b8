import type { InstructionCounter } from './instructions.ts';
import type { Spread } from './statistics.ts';

/** One measured figure of the report: what pictures are drawn from and what `gate` compares. */
export interface Figure {
  /** Stable name, lower case: `token/bare/cpu`. The same figure has the same name in every commit. */
  readonly id: string;
  /** What it is, for a reader: `a token ÷ bare node:https, processor time`. */
  readonly title: string;
  /** Empty for a ratio; otherwise `MB`, `ms`, `kB`, `s`, `µs`. */
  readonly unit: string;
  readonly value: Spread;
  /** What is aimed at, if anything. */
  readonly aim?: { readonly kind: 'at most' | 'at least'; readonly value: number };
}

/** What a part gives back: its chapter in Markdown and its figures. */
export interface PartReport {
  readonly markdown: string;
  readonly figures: readonly Figure[];
}

/** What every part gets. */
export interface PartContext {
  /** A temporary folder of its own. */
  readonly folder: string;
  /** Whether to be short. */
  readonly quick: boolean;
  /** Absent where instructions are not to be counted, or cannot be. */
  readonly counter: InstructionCounter | undefined;
}
