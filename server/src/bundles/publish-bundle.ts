import { createHash } from 'node:crypto';
import { buildBundle, issuedSkew, maxBundleBytes, signBundle } from '@signet/policy-engine/bundle';
import type { Clock } from '@signet/policy-engine/clock';
import { LRUCache } from 'lru-cache';
import { ConflictError } from '../errors.ts';
import type { SigningKey } from '../keys/sign-token.ts';
import type { SigningKeys } from '../keys/signing-keys.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { type PolicyVersions, selectPolicies } from './select-policies.ts';

/** How the bytes of an ES256 signature are written: r and s side by side (RFC 7518 §3.4), or ASN.1. */
export type SignatureForm = 'p1363' | 'der';

export interface PublishBundleDeps {
  readonly snapshot: () => Snapshot;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly lifetimeSeconds: number;
}

/** A bundle that can be asked for: its tag is known before it is signed. */
export interface PublishedBundle {
  /** A strong entity tag with its quotes. It changes with the domain, with each new issue and with the key. */
  readonly entityTag: string;
  /** When the domain was last changed, in milliseconds since the epoch. */
  readonly modified: number;
  /** The JSON text of the JWS. Signed once, then kept. Throws `ConflictError` when it would be larger than a bundle may be. */
  json(): Promise<string>;
}

export interface BundlePublisher {
  publish(domain: DomainSnapshot, form: SignatureForm, versions?: PolicyVersions): PublishedBundle;
}

/** Texts of bundles kept, in characters. */
const cacheCharacters = 64 * 1024 * 1024;

/** A bundle is issued anew after this part of its life. */
const issuesPerLife = 7;

/**
 * The `issued` time of a bundle: the last point of a grid, a seventh of its life apart, or the time of the domain's last change
 * when that is later. So every process and every server makes the same payload, and each is replaced long before it expires.
 */
export function issuedAt(now: number, modified: number, lifetimeMs: number): number {
  const step = Math.floor(lifetimeMs / issuesPerLife);
  return Math.max(Math.floor(now / step) * step, modified);
}

/** The time by a clock that a small step back does not move: hosts refuse what is issued before what they have. */
function withoutStepsBack(clock: Clock): () => number {
  let latest = 0;
  return () => {
    const now = clock.now();
    latest = latest > now + issuedSkew ? now : Math.max(latest, now);
    return latest;
  };
}

/** Signs bundles on demand, each once. */
export function createBundlePublisher(deps: PublishBundleDeps): BundlePublisher {
  const lifetimeMs = deps.lifetimeSeconds * 1000;
  const now = withoutStepsBack(deps.clock);
  const signed = new LRUCache<string, Promise<string>, number>({
    // The size is given with each entry: its length is not known before it is signed.
    maxSize: cacheCharacters,
  });

  async function sign(
    domain: DomainSnapshot,
    epoch: number,
    issued: number,
    key: SigningKey,
    form: SignatureForm,
    versions: PolicyVersions,
  ) {
    const data = buildBundle({
      domain: domain.name,
      epoch,
      version: domain.version,
      modified: domain.modified,
      issued,
      expires: issued + lifetimeMs,
      policies: selectPolicies(domain.policies, versions),
    });
    // A signed choice of versions must never pass for what is in force: the engine refuses a payload with this member.
    const chosen = versions.size === 0 ? data : { ...data, policyVersions: Object.fromEntries(versions) };
    const json = JSON.stringify(await signBundle(chosen, key, form));
    if (json.length > maxBundleBytes) {
      throw new ConflictError(
        `domain \`${domain.name}\` has more policy than a bundle may hold (${maxBundleBytes} bytes)`,
      );
    }
    return json;
  }

  return {
    publish(domain, form, versions = new Map()) {
      const { epoch } = deps.snapshot();
      const key = deps.keys.key('bundle');
      const issued = issuedAt(now(), domain.modified, lifetimeMs);
      const selection = versions.size === 0 ? '' : `.${selectionDigest(versions)}`;
      const version = `${epoch}.${domain.version}.${issued.toString(36)}.${key.kid.slice(0, 8)}.${form}${selection}`;
      return {
        entityTag: `"${version}"`,
        modified: domain.modified,
        json() {
          const cacheKey = `${domain.name} ${version}`;
          const known = signed.get(cacheKey);
          if (known !== undefined) return known;
          const made = sign(domain, epoch, issued, key, form, versions);
          signed.set(cacheKey, made, { size: 2000 + 200 * assertionCount(domain) });
          made.catch(() => signed.delete(cacheKey));
          return made;
        },
      };
    },
  };
}

function assertionCount(domain: DomainSnapshot): number {
  return domain.policies.reduce((sum, policy) => sum + policy.assertions.length, 0);
}

function selectionDigest(versions: PolicyVersions): string {
  const entries = [...versions].sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(entries)).digest('base64url').slice(0, 16);
}
