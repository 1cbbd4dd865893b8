import { setTimeout as pause } from 'node:timers/promises';
import { isBusy } from './errors.ts';

const lockWaitMs = 5000;
const lockRetryMs = 20;

/**
 * Does `work`, again and again while another connection holds the lock, for five seconds at most. SQLite's own waiting would stop
 * everything else in this process, and could wait for a transaction of this very process. `work` must be whole or nothing.
 */
export async function waitingForLock<Result>(work: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + lockWaitMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw error;
    }
    await pause(lockRetryMs);
  }
}
