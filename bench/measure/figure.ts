import type { InstructionCounter } from './instructions.ts';
import type { Spread } from './statistics.ts';

/** Measured figure of the report: pictures are drawn from it and `gate` compares it. */
export interface Figure {
  /** Stable name, lower case: `token/bare/cpu`. The same figure has the same name in every commit. */
  readonly id: string;
  /** Title for a reader: `a token ÷ bare node:https, processor time`. */
  readonly title: string;
  /** Empty for a ratio; otherwise `MB`, `ms`, `kB`, `s`, `µs`. */
  readonly unit: string;
  readonly value: Spread;
  /** Aim, if any. */
  readonly aim?: { readonly kind: 'at most' | 'at least'; readonly value: number };
}

/** Result of a part: its chapter in Markdown and its figures. */
export interface PartReport {
  readonly markdown: string;
  readonly figures: readonly Figure[];
}

/** Context of every part. */
export interface PartContext {
  /** A temporary folder of its own. */
  readonly folder: string;
  /** True for the short version. */
  readonly quick: boolean;
  /** Counter of instructions; absent where they are not to be counted, or cannot be. */
  readonly counter: InstructionCounter | undefined;
}
