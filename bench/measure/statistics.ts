/** Median and extremes of a series of measurements of the same thing. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The value below which `share` (0 to 1) of the values lie; nearest rank, of a copy. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1));
  return sorted[rank] ?? Number.NaN;
}

/** Median, least and greatest of the values. */
export function spreadOf(values: readonly number[]): Spread {
  return { median: percentile(values, 0.5), low: Math.min(...values), high: Math.max(...values) };
}

/** The spread of `ours[i] / peer[i]`: both were measured in the same round, so what the machine did to one it did to the other. */
export function ratioOf(ours: readonly number[], peer: readonly number[]): Spread {
  return spreadOf(ours.map((value, round) => value / (peer[round] ?? Number.NaN)));
}

/** The spread of `ours` over the median of the peer, for what was not measured round by round beside it, such as instructions. */
export function ratioToMedian(ours: readonly number[], peer: readonly number[]): Spread {
  const median = percentile(peer, 0.5);
  return spreadOf(ours.map((value) => value / median));
}
