import type { BundleVersion } from '../bundle/index.ts';
import { nodeBundleCrypto } from '../bundle/node-bundle-crypto.ts';
import { isDigestOf, type KnownFloor, refuseSuccessor, type Successor } from '../bundle/succession.ts';
import { type OpenedBundle, openBundle } from '../bundle/verify.ts';
import type { LoadedDomain } from '../engine/policy-set.ts';
import type { KeySource } from '../keys/index.ts';
import type { DomainName } from '../names/index.ts';
import { compileInSteps } from '../policy/index.ts';
import { pauseBetweenSlices } from '../steps/slices.ts';
import { runWithPauses } from '../steps/steps.ts';
import type { Floors } from './floors.ts';

/** A bundle that is in force. The times are milliseconds since the epoch. */
export interface LoadedBundle extends LoadedDomain {
  readonly version: BundleVersion;
  /** Floor that remains when the bundle is gone. */
  readonly floor: Successor;
  /** Makes the digest that the floor does not have. */
  readonly makeDigest?: () => Promise<string>;
  readonly kid: string;
  readonly issued: number;
  readonly origin?: 'athenz';
  readonly loaded: number;
}

interface LoadBundleOptions {
  readonly domain: DomainName;
  readonly keys: KeySource;
  readonly now: number;
  readonly floors: Pick<Floors, 'of' | 'withDigest'>;
  /** True if the digest is computed at once, for floors that are compared or written elsewhere. */
  readonly needsDigest: boolean;
  readonly athenzBundles: boolean;
}

/**
 * Verifies a bundle and builds its index, in slices of some milliseconds, so that a large one does not stall the service.
 * Throws `PolicyEngineError` as `verifyBundle` and `compileDomain` do. A bundle past its expiry is taken.
 */
export async function loadBundle(bytes: Uint8Array, options: LoadBundleOptions): Promise<LoadedBundle> {
  const pause = pauseBetweenSlices();
  const { domain, keys, now, athenzBundles } = options;
  const bundle = await openBundle(bytes, {
    domain,
    keys,
    now,
    acceptExpired: true,
    athenzBundles,
    pause,
    bundleCrypto: nodeBundleCrypto,
  });
  const { epoch, version, kid, origin, issued, expires } = bundle;
  const floor = await compareWithFloor(bundle, options);
  const active = bundle.policies.filter((policy) => policy.active !== false);
  const policy = await runWithPauses(compileInSteps(domain, active, { revision: { epoch, version } }), pause);
  return {
    policy,
    version: { epoch, version },
    floor,
    ...(floor.digest === undefined && { makeDigest: bundle.digest }),
    kid,
    issued,
    expires,
    ...(origin !== undefined && { origin }),
    loaded: now,
  };
}

/**
 * Floor of the bundle. Its digest is computed where it must be compared: the floor of the same epoch and version has another content, or its own
 * digest is not known either. Throws the refusal of a bundle that may not follow.
 */
async function compareWithFloor(bundle: OpenedBundle, options: LoadBundleOptions): Promise<Successor> {
  const { domain, floors, needsDigest } = options;
  const { epoch, version, issued, origin, content } = bundle;
  const facts = { epoch, version, issued, ...(content !== undefined && { content }) };
  const mayWait = !needsDigest && origin === undefined;
  let floor = floors.of(domain);
  const isOfFloor = floor?.epoch === epoch && floor.version === version;
  if (!isOfFloor && mayWait) return unlessRefused(facts, floor);
  const isSame = isOfFloor && content !== undefined && floor?.content === content;
  let digest = isSame ? floor?.digest : undefined;
  if (!isSame || (digest === undefined ? !mayWait : !isDigestOf(digest, origin))) {
    digest = await bundle.digest();
    if (isOfFloor) floor = await floors.withDigest(domain);
  }
  return unlessRefused({ ...facts, ...(digest !== undefined && { digest }) }, floor);
}

function unlessRefused(next: Successor, floor: KnownFloor | undefined): Successor {
  const refusal = refuseSuccessor(next, floor);
  if (refusal !== undefined) throw refusal;
  return next;
}
