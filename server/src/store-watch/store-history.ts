import type { Logger } from '../logger.ts';
import type { Store, StoreState } from '../model/store.ts';
import type { Divergence, OtherHistory } from '../snapshot/live-snapshot.ts';

/** A state as operators are shown it. */
export function shownState({ epoch, counter, head }: StoreState): {
  readonly epoch: number;
  readonly counter: number;
  readonly head: string;
} {
  return { epoch, counter, head: head.slice(0, 12) };
}

/** Logs that the store has another history than this process knew, or that a new epoch has begun. */
export function logHistory({ state, divergence }: OtherHistory, logger: Logger): void {
  if (divergence === undefined) {
    logger.info({ found: shownState(state) }, 'store has a new epoch, reloading everything');
    return;
  }
  logger.error(
    { known: shownState(divergence.known), found: shownState(divergence.found) },
    'store-diverged: the history of the store differs from the one that this server loaded, changes were lost: ' +
      'find out what is missing, then run `signet store new-epoch`',
  );
}

interface EndingDeps {
  readonly store: Pick<Store, 'change'>;
  readonly logger: Logger;
}

/**
 * Ends a divergence by a new epoch. INVARIANT: of several servers that have noticed it, one begins it: the others find, in their transaction, an
 * epoch that is later than every one they know. What cannot be done now is tried again after the next look at the store.
 */
export function endDivergence({ store, logger }: EndingDeps): (divergence: Divergence) => Promise<void> {
  return async ({ epoch: seen, known, found }) => {
    const reason = `the store had another history at change ${found.counter} than at change ${known.counter} before`;
    try {
      const begun = await store.change({ actor: 'signet serve', reason }, async (change) =>
        change.state().epoch > seen ? undefined : await change.newEpoch(seen),
      );
      if (begun !== undefined) {
        logger.warn({ epoch: begun }, 'starting a new epoch, as configured by `store.onDivergence`');
      }
    } catch (error) {
      logger.error({ error: String(error) }, 'new epoch cannot be started yet');
    }
  };
}
