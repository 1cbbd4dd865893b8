import type { Clock } from '@signet/policy-engine/clock';

/** Notices that this process has stood still: stopped by a signal, asleep with its machine, or moved with it. What it knows is as old as that. */
export interface StandstillWatch extends Disposable {
  /** Promise to await before a request is decided; nearly always undefined. Never rejects. */
  catchUp(): Promise<void> | undefined;
}

interface StandstillDeps {
  readonly clock: Clock;
  /** Monotonic clock in milliseconds; default: that of the process. */
  readonly monotonic?: () => number;
  /** Maximum age of the process's state, in milliseconds. */
  readonly refreshIntervalMs: number;
  /** Looks at the store. */
  readonly refresh: () => Promise<unknown>;
}

/** Interval of the heartbeat, in milliseconds. */
const beatMs = 1000;

/**
 * INVARIANT: requests right after a standstill, such as those sent meanwhile, are not decided by the state from before it: the timers that would
 * poll the store come later than the input of the sockets. A store that cannot be read delays requests only for one poll.
 */
export function watchForStandstill(deps: StandstillDeps): StandstillWatch {
  const { clock, monotonic = () => performance.now(), refreshIntervalMs, refresh } = deps;
  const longestMs = refreshIntervalMs + 2 * beatMs;
  const readClocks = () => ({ wall: clock.now(), steady: monotonic() });
  let last = readClocks();
  let catching: Promise<void> | undefined;
  const catchUp = (): Promise<void> | undefined => {
    const now = readClocks();
    // The monotonic clock stops while a machine sleeps.
    const stoodMs = Math.max(now.wall - last.wall, now.steady - last.steady);
    last = now;
    if (stoodMs <= longestMs) return catching;
    const begun = refresh().then(
      () => undefined,
      () => undefined,
    );
    catching = begun;
    void begun.then(() => {
      if (catching === begun) catching = undefined;
    });
    return begun;
  };
  const timer = setInterval(catchUp, beatMs);
  timer.unref();
  return { catchUp, [Symbol.dispose]: () => clearInterval(timer) };
}
