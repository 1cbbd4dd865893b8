import type { Clock } from '@signet/policy-engine/clock';
import type { Store } from '../model/store.ts';
import { clockToleranceMs, type StoreCondition } from '../model/store.ts';
import type { ClockWitness } from '../observer.ts';

/** Witness against the own clock: the clock of the database, a time that this server itself wrote, or one that another server wrote. */
type StoreClockWitness = Exclude<ClockWitness, 'callers'>;

/**
 * Judgement of the own clock. `degraded`: the newest record of the store is later, so one of two clocks is wrong. `wrong`: the clock of the
 * database, or a time that this server itself wrote, says so.
 */
export interface ClockJudgement {
  readonly state: 'fit' | 'degraded' | 'wrong';
  /** Witness; absent for a clock that is right. */
  readonly witness?: StoreClockWitness;
  /** Lead over the clock of the database, in milliseconds. */
  readonly aheadMs?: number | undefined;
}

interface ClockEvidence {
  /** The own clock, milliseconds since the epoch. */
  readonly now: number;
  /** Time of the newest record of the store, by any writer; undefined before the first. */
  readonly newest: number | undefined;
  /**
   * Lead of a second witness (the last record that this server wrote itself, the clock of a database) over the own clock; negative if behind.
   */
  readonly offsetMs: number | undefined;
  /** Lead of the own clock over that of the database at the last poll; undefined for a store without a clock. */
  readonly aheadMs?: number | undefined;
}

/**
 * Judges the own clock. The database is the clock that all servers of a store have in common: a server that is ahead of it issues what hosts refuse. A
 * record of another server alone proves nothing: else one server with a wrong clock would take all others out of service. Time that
 * passed without a record proves nothing either.
 */
export function judgeClock({ now, newest, offsetMs, aheadMs }: ClockEvidence): ClockJudgement {
  const second: StoreClockWitness = aheadMs === undefined ? 'records' : 'database';
  // Both: a machine that slept was not ahead at the last look, and a clock that was set since is not ahead now.
  if (isApart(aheadMs) && isApart(offsetMs && -offsetMs)) return { state: 'wrong', witness: 'database', aheadMs };
  if (newest === undefined || newest - now <= clockToleranceMs) return { state: 'fit' };
  if (isApart(offsetMs && Math.abs(offsetMs))) return { state: 'wrong', witness: second };
  return { state: 'degraded', witness: 'peers' };
}

function isApart(milliseconds: number | undefined): boolean {
  return milliseconds !== undefined && milliseconds > clockToleranceMs;
}

/** Store and clock in the answer of `GET /readyz`. */
export interface StoreWatch {
  condition(): StoreCondition;
  clock(): ClockJudgement;
  /** Looks now. Never throws. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

interface StoreWatchDeps {
  readonly store: Pick<Store, 'condition' | 'tryWriting' | 'newestRecord' | 'lastWritten' | 'aheadOfDatabase'>;
  readonly clock: Clock;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
  readonly refreshIntervalMs: number;
  /** Called when the store becomes read-only, and when it is writable again. */
  readonly onCondition: (condition: StoreCondition) => void;
  /** Called when another witness than before, or none any more, says that the own clock is wrong. */
  readonly onClock?: (judgement: ClockJudgement) => void;
}

/** Maximum delay until changes are accepted again once there is space, in milliseconds. */
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
  const clockNow = (): ClockJudgement => {
    const now = clock.now();
    const own = store.lastWritten();
    const expected = own && own.wall + (monotonic() - own.monotonic);
    // Record of the process before this one: an unknown time has passed since.
    const before = newest?.own === true ? Math.max(newest.at, now) : undefined;
    const second = expected ?? before;
    const offsetMs = second === undefined ? undefined : second - now;
    return judgeClock({ now, newest: newest?.at, offsetMs, aheadMs: store.aheadOfDatabase() });
  };
  let saidOfClock: StoreClockWitness | undefined;
  const tellClock = (): void => {
    const judgement = clockNow();
    if (judgement.witness !== saidOfClock) deps.onClock?.(judgement);
    saidOfClock = judgement.witness;
  };
  const look = async (): Promise<void> => {
    // A store that cannot be read says so elsewhere; what was read of it last stays.
    newest = await store.newestRecord().catch(() => newest);
    tell(store.condition() === 'read-only' ? await store.tryWriting() : 'writable');
    tellClock();
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
    clock: clockNow,
    refresh,
    close: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
