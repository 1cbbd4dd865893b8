import { type BundleFloor, type BundleVersion, type VerifiedBundle, verifyBundle } from '../bundle/index.ts';
import { nodeBundleCrypto } from '../bundle/node-bundle-crypto.ts';
import type { LoadedDomain } from '../engine/policy-set.ts';
import type { KeySource } from '../keys/index.ts';
import type { DomainName } from '../names/index.ts';
import { compileInSteps } from '../policy/index.ts';
import { pauseBetweenSlices } from '../steps/slices.ts';
import { runWithPauses } from '../steps/steps.ts';

/** A bundle that is in force. The times are milliseconds since the epoch. */
export interface LoadedBundle extends LoadedDomain {
  readonly version: BundleVersion;
  /** What is remembered of it when it is gone. */
  readonly floor: Required<BundleFloor>;
  readonly kid: string;
  readonly issued: number;
  readonly origin?: 'athenz';
  readonly loaded: number;
}

interface LoadBundleOptions {
  readonly domain: DomainName;
  readonly keys: KeySource;
  readonly now: number;
  readonly floor: BundleFloor | undefined;
  readonly athenzBundles: boolean;
}

/**
 * Verifies a bundle and builds its index, in slices of some milliseconds, so that a large one does not stall the service.
 * Throws `PolicyEngineError` as `verifyBundle` and `compileDomain` do. A bundle past its expiry is taken.
 */
export async function loadBundle(bytes: Uint8Array, options: LoadBundleOptions): Promise<LoadedBundle> {
  const pause = pauseBetweenSlices();
  const { domain, keys, now, floor, athenzBundles } = options;
  const bundle: VerifiedBundle = await verifyBundle(bytes, {
    domain,
    keys,
    now,
    acceptExpired: true,
    athenzBundles,
    pause,
    bundleCrypto: nodeBundleCrypto,
    ...(floor !== undefined && { floor }),
  });
  const { epoch, version, kid, origin, issued, expires, digest } = bundle;
  const active = bundle.policies.filter((policy) => policy.active !== false);
  const policy = await runWithPauses(compileInSteps(domain, active, { revision: { epoch, version } }), pause);
  const facts = { version: { epoch, version }, floor: { epoch, version, issued, digest } };
  return { policy, ...facts, kid, issued, expires, ...(origin !== undefined && { origin }), loaded: now };
}
