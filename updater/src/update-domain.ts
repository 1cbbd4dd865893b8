import { type BundleAnswer, type SignetClient, SignetClientError } from '@signet/client';
import {
  freshUntil,
  type KeySource,
  PolicyEngineError,
  refuseSuccessor,
  type VerifiedBundle,
  verifyBundle,
} from '@signet/policy-engine/bundle';
import { type Clock, formatTimestamp } from '@signet/policy-engine/clock';
import type { DomainName } from '@signet/policy-engine/names';
import type { BundleForm } from './config/config.ts';
import { bundleName, type PolicyDirectory } from './files/policy-directory.ts';
import type { BundleOnDisk, Outcome } from './outcome.ts';
import type { State } from './state.ts';
import { UpdaterError } from './updater-errors.ts';

interface UpdateDomainDeps {
  readonly bundles: Pick<SignetClient['bundles'], 'fetch'>;
  /** `known` never asks the server. */
  readonly keys: KeySource & { readonly known: KeySource };
  readonly directory: PolicyDirectory;
  readonly state: State;
  readonly clock: Clock;
  readonly maxBundleBytes: number;
  readonly athenzBundles?: boolean;
  readonly bundleForm?: BundleForm;
}

interface Present {
  readonly bytes: Buffer;
  readonly bundle: VerifiedBundle;
}

/** Report of a verified bundle. */
function bundleOnDisk(bundle: VerifiedBundle): BundleOnDisk {
  const { epoch, version, issued, expires, kid } = bundle;
  return { epoch, version, issued, expires, freshUntil: freshUntil(bundle), kid };
}

/**
 * Updates one domain's bundle: asks the server whether there is another than the one on disk, verifies it (signature, domain, times, what was
 * accepted before) and replaces the file in one step. Every expected failure is an `Outcome`; the file on disk changes only with `updated`.
 */
export async function updateDomain(deps: UpdateDomainDeps, domain: DomainName, signal?: AbortSignal): Promise<Outcome> {
  try {
    await deps.directory.checkFile(bundleName(domain));
    const present = await readPresent(deps, domain);
    const etag = present === undefined ? undefined : usableTag(deps, domain, present);
    const answer = await deps.bundles.fetch(domain, {
      ...(deps.bundleForm !== undefined && { form: deps.bundleForm }),
      ...(etag !== undefined && { etag }),
      ...(signal !== undefined && { signal }),
    });
    if (answer.kind === 'unchanged' && present !== undefined) {
      return { kind: 'unchanged', bundle: bundleOnDisk(present.bundle) };
    }
    if (answer.kind === 'unchanged') throw new SignetClientError('response-malformed', 'nothing to be unchanged');
    return await accept(deps, domain, present, answer);
  } catch (error) {
    return outcomeOf(error);
  }
}

/** The bundle on disk when it is good, though it may be past its expiry: its version counts even if `state.json` is gone. */
async function readPresent(deps: UpdateDomainDeps, domain: DomainName): Promise<Present | undefined> {
  const { directory, keys, clock, maxBundleBytes, athenzBundles = false } = deps;
  const bytes = await directory.read(bundleName(domain), maxBundleBytes).catch((error: unknown) => {
    // a file that is too large or cannot be read is replaced, like any other bad one
    if (error instanceof UpdaterError && error.code === 'storage') return undefined;
    throw error;
  });
  if (bytes === undefined) return undefined;
  try {
    const now = clock.now();
    const bundle = await verifyBundle(bytes, { domain, keys: keys.known, now, acceptExpired: true, athenzBundles });
    return { bytes, bundle };
  } catch (error) {
    if (error instanceof PolicyEngineError) return undefined;
    throw error;
  }
}

function usableTag(deps: UpdateDomainDeps, domain: DomainName, present: Present): string | undefined {
  const { bundle, bytes } = present;
  const floor = deps.state.floor(domain, undefined);
  // a file that may not follow what was accepted before was put there by another program
  const isCurrent = refuseSuccessor(bundle, floor) === undefined;
  // "not modified" would not make it live longer
  if (!isCurrent || deps.clock.now() >= freshUntil(bundle)) return undefined;
  // an Athenz server identifies its bundles by the time of change, whichever host fetched them
  if (bundle.origin === 'athenz') return `"${formatTimestamp(bundle.modified)}"`;
  return deps.state.etag(domain, bytes);
}

async function accept(
  deps: UpdateDomainDeps,
  domain: DomainName,
  present: Present | undefined,
  answer: Extract<BundleAnswer, { kind: 'changed' }>,
): Promise<Outcome> {
  const { keys, state, directory, clock, athenzBundles = false } = deps;
  const floor = state.floor(domain, present?.bundle);
  const bundle = await verifyBundle(answer.bytes, {
    domain,
    keys,
    now: clock.now(),
    athenzBundles,
    ...(floor !== undefined && { floor }),
  });
  const isSame = present?.bytes.equals(answer.bytes) ?? false;
  if (!isSame) await directory.write(bundleName(domain), answer.bytes);
  state.accept(domain, bundle, answer.etag, answer.bytes);
  return { kind: isSame ? 'unchanged' : 'updated', bundle: bundleOnDisk(bundle) };
}

/** Outcome of the domain for an error on the way. Bugs are rethrown. */
export function outcomeOf(error: unknown): Outcome {
  if (error instanceof PolicyEngineError) return { kind: 'rejected', reason: error.code, message: error.message };
  if (error instanceof UpdaterError && error.code === 'storage') return { kind: 'not-stored', message: error.message };
  if (error instanceof UpdaterError && error.code === 'unsafe-file') return { kind: 'unsafe', message: error.message };
  if (!(error instanceof SignetClientError)) throw error;
  const { code: reason, message } = error;
  switch (reason) {
    case 'refused':
    case 'server-error':
      return { kind: 'refused', status: error.status ?? 0, message, retryAfterSeconds: error.retryAfterSeconds };
    case 'redirected':
    case 'response-too-large':
    case 'response-malformed':
      return { kind: 'rejected', reason, message };
    case 'unreachable':
    case 'timed-out':
    case 'tls':
    case 'aborted':
    case 'closed':
    // The certificate has expired: the next run takes up a new one.
    case 'invalid-identity':
      return { kind: 'unreachable', reason, message };
    case 'invalid-argument':
    case 'invalid-cache':
    case 'unknown-key':
      throw error;
    default:
      return reason satisfies never;
  }
}
