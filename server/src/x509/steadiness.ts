import type { Clock } from '@signet/policy-engine/clock';

/** A greater difference between two looks means that the clock was set, or that the machine slept. */
const stepMs = 60_000;

/** Time for which a clock must have gone on evenly before it is trusted. */
const steadyMs = 6 * 3_600_000;

/**
 * Predicate: the clock has gone on evenly for six hours, as far as regular checks can tell: records deleted by a clock that was wrong for an
 * hour do not come back. `monotonic` is in milliseconds.
 */
export function watchSteadiness(clock: Clock, monotonic: () => number): () => boolean {
  let since = monotonic();
  let offset = clock.now() - since;
  return () => {
    const at = monotonic();
    const last = offset;
    offset = clock.now() - at;
    if (Math.abs(offset - last) > stepMs) since = at;
    return at - since >= steadyMs;
  };
}
