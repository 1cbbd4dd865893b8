import type { Figure } from '../measure/figure.ts';
import { percentile, ratioOf, type Spread } from '../measure/statistics.ts';

/** A figure of this tree and of the other commit. */
export interface Comparison {
  readonly id: string;
  readonly title: string;
  /** The medians over all rounds. */
  readonly before: number;
  readonly after: number;
  /** After ÷ before, formed within each round. */
  readonly ratio: Spread;
  readonly verdict: 'better' | 'worse' | 'higher' | 'lower' | 'within the noise';
}

/** A figure that moves less than this says nothing, however steady it is. */
const leastMove = 0.03;

/**
 * Compares the rounds of two commits figure by figure; a figure that one of them lacks is left out. One has moved when all rounds say so and
 * their median differs by more than 3 %: with five rounds, chance does that once in sixteen times at most.
 */
export function compareRounds(
  before: readonly (readonly Figure[])[],
  after: readonly (readonly Figure[])[],
): Comparison[] {
  return (after[0] ?? []).flatMap((figure) => {
    const [old, now] = [mediansOf(before, figure.id), mediansOf(after, figure.id)];
    if (old.length !== now.length || old.length === 0) return [];
    const ratio = ratioOf(now, old);
    const { id, title, aim } = figure;
    return [
      {
        id,
        title,
        before: percentile(old, 0.5),
        after: percentile(now, 0.5),
        ratio,
        verdict: verdictOf(ratio, aim?.kind),
      },
    ];
  });
}

function mediansOf(rounds: readonly (readonly Figure[])[], id: string): number[] {
  return rounds.flatMap((figures) => figures.filter((one) => one.id === id).map(({ value }) => value.median));
}

function verdictOf({ median, low, high }: Spread, kind: 'at most' | 'at least' | undefined): Comparison['verdict'] {
  const hasMoved = (low > 1 || high < 1) && Math.abs(median - 1) > leastMove;
  if (!hasMoved) return 'within the noise';
  const isHigher = median > 1;
  if (kind === undefined) return isHigher ? 'higher' : 'lower';
  return isHigher === (kind === 'at least') ? 'better' : 'worse';
}
