import { setTimeout as pause } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { atMost } from '../base/at-most.ts';
import { ServiceUnavailableError } from '../errors.ts';

/** Timing in milliseconds, by a monotonic clock. */
export interface Pace {
  now(): number;
  wait(ms: number): Promise<unknown>;
}

const realPace: Pace = { now: () => performance.now(), wait: (ms) => pause(ms) };

/** Interval of turns in each lane, e.g. for each domain. */
const turnMs = 1000;

/** Maximum of different pieces of work that wait in one lane. */
export const maxWaiting = 10;

/** Lanes that are remembered; one that is forgotten begins with a free turn. */
const lanesKept = 100_000;

interface Lane<Result> {
  /** Time when the next turn is free. */
  free: number;
  readonly waiting: Map<string, Promise<Result>>;
}

/**
 * Gives work a turn in its lane: at once when the last turn is long enough ago, else at the end of that time. Concurrent requests for the same
 * `piece` share one result, so `work` must read the state when it is called. Throws `ServiceUnavailableError` when too much waits.
 */
type TakeTurn<Result> = (lane: string, piece: string, work: () => Promise<Result>) => Promise<Result>;

/** A second a turn, by `pace`. */
export function signingTurns<Result>(pace: Pace = realPace): TakeTurn<Result> {
  const lanes = new LRUCache<string, Lane<Result>>(atMost(lanesKept));
  return (name, piece, work) => {
    const lane = lanes.get(name) ?? { free: Number.NEGATIVE_INFINITY, waiting: new Map() };
    lanes.set(name, lane);
    const joined = lane.waiting.get(piece);
    if (joined !== undefined) return joined;
    if (lane.waiting.size >= maxWaiting) {
      throw new ServiceUnavailableError('too many signatures are waited for', { retryAfterSeconds: maxWaiting });
    }
    const now = pace.now();
    const turn = Math.max(now, lane.free);
    lane.free = turn + turnMs;
    if (turn === now) return work();
    const result = pace.wait(Math.ceil(turn - now)).then(() => {
      lane.waiting.delete(piece);
      return work();
    });
    lane.waiting.set(piece, result);
    return result;
  };
}
