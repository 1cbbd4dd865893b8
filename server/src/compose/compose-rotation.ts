import { type Clock, formatTimestamp } from '@signet/policy-engine/clock';
import type { ServerConfig } from '../config/config.ts';
import type { RotationSchedule } from '../keys/key-life.ts';
import type { PrivateKeys } from '../keys/private-keys.ts';
import { rotateKeyWhenDue } from '../keys/rotate-keys.ts';
import { scheduleRotation } from '../keys/scheduled-rotation.ts';
import { signingKeyStore } from '../keys/signing-key-store.ts';
import type { Logger } from '../logger.ts';
import type { Store } from '../model/store.ts';
import type { LiveSnapshot } from '../snapshot/live-snapshot.ts';
import type { StoreWatch } from '../store-watch/store-watch.ts';

/** Scheduled rotations of the configuration; undefined where keys are rotated by hand alone. */
export function rotationScheduleOf({ keys }: Pick<ServerConfig, 'keys'>): RotationSchedule | undefined {
  const { rotateEverySeconds, prepublishSeconds } = keys;
  if (rotateEverySeconds === undefined) return undefined;
  return { everyMs: rotateEverySeconds * 1000, delayMs: prepublishSeconds * 1000 };
}

interface RotationParts {
  readonly store: Store;
  readonly privateKeys: PrivateKeys;
  readonly live: Pick<LiveSnapshot, 'current' | 'onLook'>;
  readonly storeWatch: Pick<StoreWatch, 'clock'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Rotates the signing keys by the schedule of the configuration, where there is one. To be closed before the store. */
export function openScheduledRotation(config: ServerConfig, parts: RotationParts): { close(): Promise<void> } {
  const { store, privateKeys, live, storeWatch, clock, logger } = parts;
  const schedule = rotationScheduleOf(config);
  if (schedule === undefined) return { close: () => Promise.resolve() };
  const keys = signingKeyStore(store, 'signet serve schedule', `every ${config.keys.rotateEverySeconds} s`);
  const rotation = scheduleRotation({
    schedule,
    records: () => live.current().signingKeys,
    rotate: (purpose) => rotateKeyWhenDue({ store: keys, privateKeys, clock }, purpose, schedule),
    clock,
    random: Math.random,
    onRotated: ({ purpose, kid, activateAt }) =>
      logger.info({ purpose, kid, signsFrom: formatTimestamp(activateAt) }, 'signing key rotated on schedule'),
    onError: (error, purpose) =>
      logger.error({ purpose, error: String(error) }, 'a signing key cannot be rotated by schedule, tried again later'),
  });
  // No rotation by a clock in doubt: a due date may be wrong.
  live.onLook(() => storeWatch.clock().state === 'fit' && rotation.look());
  return rotation;
}
