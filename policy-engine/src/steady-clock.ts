import type { Clock } from './clock.ts';

/** A clock that setting another one back does not set back. */
export interface SteadyClock extends Clock {
  /** Lag of the other clock behind this one at the last reading, in milliseconds; 0 if there was none. */
  readonly setBackMs: number;
}

/**
 * The longest step back that is bridged, in milliseconds. A clock that is set back further was wrong before (a machine that
 * took local time for UTC): going on with the wrong time would refuse every new token until a restart.
 */
const longestStep = 900_000;

/**
 * Clock like `clock` that goes on by `monotonic` while that one is set back, so that nothing lives longer. A step is seen as far as it goes
 * behind the time that was last asked for. `monotonic` is in milliseconds.
 */
export function steadyClock(clock: Clock, monotonic: () => number = () => performance.now()): SteadyClock {
  let last = Number.NEGATIVE_INFINITY;
  let held: { readonly time: number; readonly at: number } | undefined;
  let setBackMs = 0;

  function bridged(now: number): number {
    held ??= { time: last, at: monotonic() };
    const time = Math.floor(held.time + monotonic() - held.at);
    if (now < time && time - now <= longestStep) {
      setBackMs = time - now;
      return time;
    }
    held = undefined;
    setBackMs = 0;
    last = now;
    return now;
  }

  return {
    now() {
      const now = clock.now();
      if (now < last || held !== undefined) return bridged(now);
      last = now;
      return now;
    },
    get setBackMs() {
      return setBackMs;
    },
  };
}
