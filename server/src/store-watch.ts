import type { Clock } from '@signet/policy-engine/clock';
import type { Store } from './model/store.ts';
import { clockToleranceMs, type StoreCondition } from './model/store.ts';

/**
 * What is known of the own clock. `degraded`: the newest record of the store is later, so one of two clocks is wrong, nobody knows which.
 * `wrong`: what this server itself wrote is later, too.
 */
type ClockState = 'fit' | 'degraded' | 'wrong';

interface ClockEvidence {
  /** The own clock, milliseconds since the epoch. */
  readonly now: number;
  /** The time of the newest record of the store, whoever wrote it; undefined before the first. */
  readonly newest: number | undefined;
  /** How far a second witness (the last record that this server wrote itself, the clock of a database) is ahead of the own clock, or behind it. */
  readonly offsetMs: number | undefined;
}

/**
 * Judges the own clock. A record of another server alone proves nothing against it: else one server with a wrong clock would take all others
 * out of service. Time that passed without a record proves nothing either.
 */
export function judgeClock({ now, newest, offsetMs }: ClockEvidence): ClockState {
  if (newest === undefined || newest - now <= clockToleranceMs) return 'fit';
  return offsetMs !== undefined && Math.abs(offsetMs) > clockToleranceMs ? 'wrong' : 'degraded';
}

/** What `GET /readyz` tells of the store and the clock. */
export interface StoreWatch {
  condition(): StoreCondition;
  clock(): ClockState;
  /** Looks now. Never throws. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

interface StoreWatchDeps {
  readonly store: Pick<Store, 'condition' | 'tryWriting' | 'newestRecord' | 'lastWritten'>;
  readonly clock: Clock;
  /** Milliseconds of a clock that nobody sets. */
  readonly monotonic: () => number;
  readonly refreshIntervalMs: number;
  /** Told when the store can be written no more, and when it can again. */
  readonly onCondition: (condition: StoreCondition) => void;
}

/** There is space again: this long may pass until changes are taken, in milliseconds. */
const longestIntervalMs = 2000;

/** Looks at the store at once and then at each refresh: a store that cannot be written is tried again. */
export async function watchStore(deps: StoreWatchDeps): Promise<StoreWatch> {
  const { store, clock, monotonic } = deps;
  let newest: Awaited<ReturnType<Store['newestRecord']>>;
  let said: StoreCondition = 'writable';
  let running: Promise<void> | undefined;
  const tell = (condition: StoreCondition): void => {
    if (condition !== said) deps.onCondition(condition);
    said = condition;
  };
  const look = async (): Promise<void> => {
    // A store that cannot be read says so elsewhere; what was read of it last stays.
    newest = await store.newestRecord().catch(() => newest);
    tell(store.condition() === 'read-only' ? await store.tryWriting() : 'writable');
  };
  const refresh = (): Promise<void> => {
    running ??= look().finally(() => {
      running = undefined;
    });
    return running;
  };
  tell(await store.tryWriting());
  await refresh();
  const timer = setInterval(() => void refresh(), Math.min(deps.refreshIntervalMs, longestIntervalMs));
  timer.unref();
  return {
    condition: () => store.condition(),
    clock: () => {
      const now = clock.now();
      const own = store.lastWritten();
      const expected = own && own.wall + (monotonic() - own.monotonic);
      // A record of the process before this one: time has passed since, nobody knows how much.
      const before = newest?.own === true ? Math.max(newest.at, now) : undefined;
      const second = expected ?? before;
      return judgeClock({ now, newest: newest?.at, offsetMs: second === undefined ? undefined : second - now });
    },
    refresh,
    close: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
