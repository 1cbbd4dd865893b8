import { setTimeout as pause } from 'node:timers/promises';
import { isTemporary } from './refused-request.ts';

/** Answer of a server, as far as a retry depends on it. */
interface Answered {
  readonly status: number;
  /** `Retry-After` in seconds, as it was sent. */
  readonly retryAfter?: string | undefined;
}

/** Time and waiting, for tests. */
interface RetryClock {
  /** Milliseconds. */
  now(): number;
  wait(ms: number): Promise<unknown>;
}

const realTime: RetryClock = { now: () => performance.now(), wait: (ms) => pause(ms) };

/** Delay where a server names none or less: a busy one is not asked in a tight loop. */
const minRetrySeconds = 1;
const usualRetrySeconds = 5;

/**
 * Sends a request until it is not refused with 429 or 503, and at most for `timeoutSeconds`: then the last refusal is the answer. A request that
 * must not be repeated is sent again after 429 alone, as after 503 a change may have been made (an acknowledgement that failed).
 */
export async function sendPatiently<Answer extends Answered>(
  send: () => Promise<Answer>,
  { timeoutSeconds, isRepeatable }: { readonly timeoutSeconds: number; readonly isRepeatable: boolean },
  { now, wait }: RetryClock = realTime,
): Promise<Answer> {
  const end = now() + timeoutSeconds * 1000;
  for (;;) {
    const answer = await send();
    const mayRepeat = isTemporary(answer.status) && (isRepeatable || answer.status === 429);
    const delayMs = delayOf(answer) * 1000;
    if (!mayRepeat || now() + delayMs > end) return answer;
    await wait(delayMs);
  }
}

function delayOf({ retryAfter = '' }: Answered): number {
  return /^\d{1,6}$/.test(retryAfter) ? Math.max(Number(retryAfter), minRetrySeconds) : usualRetrySeconds;
}
