import type { SignetClientError } from '../errors.ts';

/** How requests are repeated after an answer 5xx or a connection that failed. */
export interface RetryPolicy {
  /** How often a request is tried again; 0 is never. */
  readonly retries: number;
  /** Between 0 and 1. */
  readonly random: () => number;
}

const firstMs = 100;
const longestMs = 5000;

/** A server that asks to wait longer than this gets its error passed on instead, in seconds. */
const longestRetryAfterSeconds = 30;

/** Whether the same request may succeed later: nothing that a caller did is repaired by waiting. */
export function isPassing(error: SignetClientError): boolean {
  return error.code === 'unreachable' || (error.status !== undefined && error.status >= 500);
}

/** Whether another server may answer what this one did not. */
export function isServersOwn(error: SignetClientError): boolean {
  return isPassing(error) || error.code === 'timed-out' || error.code === 'tls';
}

/**
 * Milliseconds to wait before the next try: what `Retry-After` says, else a time that doubles, half of it random, so that clients that failed together do not come back together. `undefined`: the server wants to be left alone
 * for longer than a caller should wait.
 */
export function backOff(attempt: number, error: SignetClientError, random: () => number): number | undefined {
  const asked = error.retryAfterSeconds;
  if (asked === undefined) return ((1 + random()) / 2) * Math.min(longestMs, firstMs * 2 ** attempt);
  return asked > longestRetryAfterSeconds ? undefined : asked * 1000 + random() * firstMs;
}
