import type { Clock } from '@signet/policy-engine/clock';
import cron from 'node-cron';

/** Dependencies of `startSchedule`. All times are milliseconds. */
interface ScheduleOptions {
  /** The instant within each minute, from its start (0 to 59,999). */
  readonly offset: number;
  /** Work of one run. It handles its own failures: it must not reject. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  /** Interval of the check for a sleep of the machine. Default 2,000. */
  readonly wakeInterval?: number;
}

/** Runs that come by themselves until they are stopped. */
interface Schedule {
  /** Runs now, or right after the run that is under way. Settles when that run has ended. */
  runNow(): Promise<void>;
  /** Ends the schedule; aborts the run under way and waits for its end. */
  stop(): Promise<void>;
}

/** A gap this much longer than the interval means that the machine, or the process, stood still. */
const sleepTolerance = 3000;

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined };

/** Runs `work` once a minute at its offset, never two at once: a tick during a run is left out. */
export function startSchedule(options: ScheduleOptions): Schedule {
  const { offset, work, clock, wakeInterval = 2000 } = options;
  const stopping = new AbortController();
  let current: Promise<void> | undefined;
  let queued: Promise<void> | undefined;
  let delay: NodeJS.Timeout | undefined;
  let lastLook = clock.now();

  const run = (): Promise<void> => {
    if (stopping.signal.aborted) return Promise.resolve();
    current ??= work(stopping.signal).finally(() => {
      current = undefined;
    });
    return current;
  };
  const runNow = (): Promise<void> => {
    if (current === undefined) return run();
    queued ??= current.then(() => {
      queued = undefined;
      return run();
    });
    return queued;
  };
  const tick = () => {
    clearTimeout(delay);
    // cron counts in seconds: the rest of the offset is waited for here
    delay = setTimeout(() => void run(), offset % 1000);
  };
  const look = () => {
    const now = clock.now();
    const slept = now - lastLook > wakeInterval + sleepTolerance;
    lastLook = now;
    if (slept) void run();
  };

  const task = cron.schedule(`${Math.floor(offset / 1000)} * * * * *`, tick, { logger: silent, noOverlap: true });
  const watch = setInterval(look, wakeInterval);
  return {
    runNow,
    stop: async () => {
      stopping.abort();
      clearInterval(watch);
      clearTimeout(delay);
      await task.destroy();
      await (queued ?? current);
    },
  };
}
