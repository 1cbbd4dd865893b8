import { setTimeout as pause } from 'node:timers/promises';
import { isBusy } from './sqlite-errors.ts';

/** Timeout for the lock of another writer, in milliseconds. */
const lockWaitMs = 5000;
const lockRetryMs = 20;
/** Time without an attempt after which earlier observations of the lock are forgotten. */
const forgottenAfterMs = 1000;

/**
 * Waits for locks of other connections without holding up the process: SQLite's own waiting would stop everything else in it, and could
 * wait for a transaction of this very process.
 */
export class LockRetry {
  #heldSince: number | undefined;
  #lastSeen = 0;

  /**
   * Runs `work`, with retries while another connection holds the lock, until that has lasted for five seconds. A later or queued caller waits no
   * longer than the first: a lock that stays costs no caller more. `work` must be atomic.
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
