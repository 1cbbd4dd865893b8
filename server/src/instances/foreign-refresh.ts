import type { Clock } from '@signet/policy-engine/clock';
import { LRUCache } from 'lru-cache';
import { atMost } from '../base/at-most.ts';
import type { Logger } from '../logger.ts';
import type { InstanceKey } from '../model/instance-store.ts';
import type { Store } from '../model/store.ts';
import type { Caller } from './caller.ts';

/** Raises the alarm: a certificate was presented to refresh an instance that is not its own. */
export type NoteForeignRefresh = (caller: Caller, key: InstanceKey) => Promise<void>;

interface ForeignRefreshDeps {
  readonly store: Pick<Store, 'change'>;
  readonly logger: Pick<Logger, 'warn'>;
  readonly clock: Clock;
}

/** The audit log gets one record for a certificate in this time, however often it is tried; the log gets a line each time. */
export const foreignRefreshPauseMs = 60_000;

const maxRemembered = 10_000;

/**
 * A log line and a record of the audit log. The instance that was meant loses nothing by it: a neighbour could otherwise revoke it. Throws
 * `StoreUnavailableError`.
 */
export function foreignRefreshAlarm({ store, logger, clock }: ForeignRefreshDeps): NoteForeignRefresh {
  const notedAt = new LRUCache<string, number>(atMost(maxRemembered));
  return async ({ principal, certificate: { serial }, requestId }, key) => {
    logger.warn({ principal, serial, requestId, ...key }, 'a certificate was used to refresh another instance');
    const now = clock.now();
    if (Math.abs(now - (notedAt.get(serial) ?? Number.NEGATIVE_INFINITY)) < foreignRefreshPauseMs) return;
    notedAt.set(serial, now);
    const reason = 'the certificate is not one of this instance';
    const context = { actor: principal, certificateSerial: serial, requestId, reason };
    await store.change(context, (transaction) => transaction.recordForeignRefresh(key, serial));
  };
}
