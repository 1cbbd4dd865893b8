import type { SignetClientError } from '../client-errors.ts';

/** Retries after an answer 5xx or a failed connection. */
export interface RetryPolicy {
  /** Maximum number of retries; 0 is none. */
  readonly retries: number;
  /** Random source, between 0 and 1. */
  readonly random: () => number;
}

const firstMs = 100;
const longestMs = 5000;

/** A server that asks to wait longer than this gets its error passed on instead, in seconds. */
const longestRetryAfterSeconds = 30;

/** True if the same request may succeed later: an error of the caller is not repaired by waiting. */
export function isPassing(error: SignetClientError): boolean {
  return error.code === 'unreachable' || (error.status !== undefined && error.status >= 500);
}

/** True if another server may answer instead. */
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
