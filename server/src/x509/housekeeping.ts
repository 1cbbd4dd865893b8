import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type { CertificateStore } from '../model/certificate-store.ts';
import type { InstanceStore } from '../model/instance-store.ts';
import type { Store } from '../model/store.ts';
import type { CrlPublisher } from './crl-publisher.ts';
import { watchSteadiness } from './steadiness.ts';

interface HousekeepingDeps {
  readonly certificates: Pick<CertificateStore, 'prune'>;
  /** Store of change requests. */
  readonly store: Pick<Store, 'pruneRequests'>;
  readonly instances: Pick<InstanceStore, 'pruneJoinTokens' | 'pruneAttestationTokens'>;
  /** Publisher of revocation lists; absent when nothing is issued. */
  readonly crls?: Pick<CrlPublisher, 'renew'> | undefined;
  readonly clock: Clock;
}

/** Rows that ended are kept this long, for those who look into what happened. */
export const keptSeconds = 30 * 86_400;

/** Retention of spent attestation tokens after their expiry, for clocks that are set back. */
const attestationTokensKeptSeconds = 86_400;

/** Batch size: one write delays others for a few milliseconds, also in a store of millions; a run is bounded, whatever has piled up. */
const batchRows = 100;
const batchesARun = 100;

const intervalMs = 60_000;

/** Forgets what ended long ago, in bounded batches. Throws `StoreUnavailableError`. */
export async function forgetEnded({ certificates, instances, store, clock }: HousekeepingDeps): Promise<void> {
  const now = epochSeconds(clock);
  const before = now - keptSeconds;
  for (const prune of [
    () => certificates.prune(before, batchRows),
    () => store.pruneRequests(before * 1000, batchRows),
    () => instances.pruneJoinTokens(before, batchRows),
    () => instances.pruneAttestationTokens(now - attestationTokensKeptSeconds, batchRows),
  ]) {
    for (let batch = 0; batch < batchesARun; batch += 1) if ((await prune()) < batchRows) break;
  }
}

/**
 * Creates the housekeeping run: it reissues revocation lists in time and, by a clock that is trusted, removes expired records. A failure is
 * logged.
 */
export function createHousekeeping(
  deps: HousekeepingDeps,
  onError: (error: unknown) => void,
  monotonic: () => number = () => performance.now(),
): () => Promise<void> {
  const isSteady = watchSteadiness(deps.clock, monotonic);
  return async () => {
    const steady = isSteady();
    for (const task of [async () => deps.crls?.renew(), async () => steady && forgetEnded(deps)]) {
      try {
        await task();
      } catch (error) {
        onError(error);
      }
    }
  };
}

/** Does so every minute. */
export function startHousekeeping(
  deps: HousekeepingDeps,
  onError: (error: unknown) => void,
): { close(): Promise<void> } {
  const run = createHousekeeping(deps, onError);
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= run().finally(() => {
      running = undefined;
    });
  }, intervalMs);
  timer.unref();
  return {
    close: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
