import type { Clock } from '@signet/policy-engine/clock';

/** Notices that this process has stood still: stopped by a signal, asleep with its machine, or moved with it. What it knows is as old as that. */
export interface StandstillWatch extends Disposable {
  /** What a request waits for before it is decided; nearly always undefined. Never rejects. */
  catchUp(): Promise<void> | undefined;
}

interface StandstillDeps {
  readonly clock: Clock;
  /** Milliseconds of a clock that nobody sets; default: that of the process. */
  readonly monotonic?: () => number;
  /** How old what the process knows may be, in milliseconds. */
  readonly refreshIntervalMs: number;
  /** Looks at the store. */
  readonly refresh: () => Promise<unknown>;
}

/** How often the process notes that it goes on, in milliseconds. */
const beatMs = 1000;

/**
 * INVARIANT: what comes first after a standstill, as requests that were sent meanwhile, is not decided by what was known before it: the timers that would
 * look at the store come later than what waits in the sockets. A store that cannot be read holds nobody up for longer than the look.
 */
export function watchForStandstill(deps: StandstillDeps): StandstillWatch {
  const { clock, monotonic = () => performance.now(), refreshIntervalMs, refresh } = deps;
  const longestMs = refreshIntervalMs + 2 * beatMs;
  const readClocks = () => ({ wall: clock.now(), steady: monotonic() });
  let last = readClocks();
  let catching: Promise<void> | undefined;
  const catchUp = (): Promise<void> | undefined => {
    const now = readClocks();
    // The one that nobody sets stops while a machine sleeps.
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
