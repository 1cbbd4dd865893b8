import {
  type KeySource,
  PolicyEngineError,
  refuseSuccessor,
  staticKeys,
  verifyBundle,
} from '@signet/policy-engine/bundle';
import { formatTimestamp } from '@signet/policy-engine/clock';
import type { DomainName } from '@signet/policy-engine/names';
import { bundleName, type PolicyDirectory } from './files/policy-directory.ts';
import { readKeysFile } from './keys-file.ts';
import type { State } from './state.ts';
import { UpdaterError } from './updater-errors.ts';

/** State of a domain on disk. Timestamps are RFC 3339. */
export type BundleCheck =
  | {
      readonly state: 'good' | 'expired';
      readonly epoch: number;
      readonly version: number;
      readonly issued: string;
      readonly expires: string;
      readonly kid: string;
    }
  | { readonly state: 'missing'; readonly message: string }
  | { readonly state: 'bad'; readonly reason: string; readonly message: string };

interface CheckBundleDeps {
  readonly directory: PolicyDirectory;
  readonly keys: KeySource;
  readonly state: State;
  readonly maxBundleBytes: number;
  readonly athenzBundles?: boolean;
}

/** Verifies the bundle on disk as the policy engine does: signature, domain, expiry, floor. */
export async function checkBundle(deps: CheckBundleDeps, domain: DomainName, now: number): Promise<BundleCheck> {
  try {
    await deps.directory.checkFile(bundleName(domain));
    const bytes = await deps.directory.read(bundleName(domain), deps.maxBundleBytes);
    if (bytes === undefined) return { state: 'missing', message: 'no bundle on disk' };
    const { keys, athenzBundles = false } = deps;
    const bundle = await verifyBundle(bytes, { domain, keys, now, acceptExpired: true, athenzBundles });
    const { epoch, version, issued, expires, kid } = bundle;
    const state = expires <= now ? 'expired' : 'good';
    // an expired bundle allows nothing, whatever came before it
    const refusal = state === 'good' ? refuseSuccessor(bundle, deps.state.floor(domain, undefined)) : undefined;
    if (refusal !== undefined) throw refusal;
    return { state, epoch, version, issued: formatTimestamp(issued), expires: formatTimestamp(expires), kid };
  } catch (error) {
    if (!(error instanceof PolicyEngineError) && !(error instanceof UpdaterError)) throw error;
    return { state: 'bad', reason: error.code, message: error.message };
  }
}

/** The keys of `keys.json`; none when it is missing or cannot be used. */
export async function localKeys(directory: PolicyDirectory): Promise<KeySource> {
  const file = await readKeysFile(directory);
  try {
    return staticKeys({ keys: file?.keys ?? [] });
  } catch (error) {
    if (!(error instanceof PolicyEngineError)) throw error;
    return staticKeys({ keys: [] });
  }
}
