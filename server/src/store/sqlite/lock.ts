import { setTimeout as pause } from 'node:timers/promises';
import { isBusy } from './sqlite-errors.ts';

/** How long a lock of another writer is waited for, in milliseconds. */
const lockWaitMs = 5000;
const lockRetryMs = 20;
/** Nobody has looked at the lock for this long: what was seen of it before says nothing any more. */
const forgottenAfterMs = 1000;

/**
 * Waits for locks of other connections without holding up the process: SQLite's own waiting would stop everything else in it, and could
 * wait for a transaction of this very process.
 */
export class LockRetry {
  #heldSince: number | undefined;
  #lastSeen = 0;

  /**
   * Does `work`, again and again while another connection holds the lock, until that has lasted for five seconds. Who comes later, or had
   * to queue, waits no longer than the first: a lock that stays costs nobody more. `work` must be whole or nothing.
   */
  async waitFor<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        const result = await work();
        this.#heldSince = undefined;
        return result;
      } catch (error) {
        if (!isBusy(error) || this.#isLastingAt(performance.now())) throw error;
      }
      await pause(lockRetryMs);
    }
  }

  #isLastingAt(now: number): boolean {
    if (this.#heldSince === undefined || now - this.#lastSeen > forgottenAfterMs) this.#heldSince = now;
    this.#lastSeen = now;
    return now - this.#heldSince > lockWaitMs;
  }
}
