import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Clock } from '@signet/policy-engine/clock';
import { decodeJwkList, sharesKey } from '@signet/policy-engine/token';
import type { Jwk } from '@signet/policy-engine/wire';
import { SignetClientError } from './errors.ts';
import type { PublishedKeys } from './published-keys.ts';
import { SharedFlights } from './shared-flights.ts';

/** What `jwtVerify` of `jose` takes as its key: finds the key that a token's header names. */
export type KeyResolver = (header: { readonly kid?: string; readonly alg?: string }) => Promise<KeyObject>;

interface KeyResolverDeps {
  readonly fetchKeys: (signal: AbortSignal) => Promise<PublishedKeys>;
  readonly clock: Clock;
}

/** How long keys are kept when the server does not say, and at most, in milliseconds. */
const usualAgeMs = 300_000;
const longestAgeMs = 3_600_000;

/** Unknown key ids, which anybody can make up, cause one request in this time, in milliseconds. */
const quietMs = 30_000;

/**
 * A key source for `jose`: keeps the published token keys as long as the server allows and asks again for a `kid` that it
 * does not know, at most every 30 seconds. Only keys for tokens, only the algorithm of the key. A key set that has none in common with the
 * one before is not taken: a new client takes it. Throws `unknown-key`.
 */
export function createKeyResolver({ fetchKeys, clock }: KeyResolverDeps): KeyResolver {
  const flights = new SharedFlights<void>();
  let last: PublishedKeys | undefined;
  let keys: ReadonlyMap<string, Jwk> = new Map();
  let askedAt = Number.NEGATIVE_INFINITY;
  let freshUntil = Number.NEGATIVE_INFINITY;
  let isReplaced = false;

  async function ask(signal: AbortSignal): Promise<void> {
    askedAt = clock.now();
    const published = await fetchKeys(signal);
    freshUntil = clock.now() + ageOf(published);
    isReplaced = last !== undefined && last.keys.length > 0 && !sharesKey(last, published);
    if (isReplaced) return;
    last = published;
    keys = new Map(decodeJwkList(published).keys.flatMap((key) => (key.purpose === 'bundle' ? [] : [[key.kid, key]])));
  }

  return async ({ kid, alg }) => {
    if (kid === undefined) throw new SignetClientError('unknown-key', 'the token names no key');
    const now = clock.now();
    const isMissing = !keys.has(kid) && now - askedAt >= quietMs;
    // Before it was asked: the clock was set back.
    if (now >= freshUntil || now < askedAt || isMissing) await flights.run('keys', ask);
    const jwk = keys.get(kid);
    if (jwk === undefined || jwk.alg !== alg) throw unknownKey(isReplaced);
    return createPublicKey({ key: { ...jwk }, format: 'jwk' });
  };
}

function ageOf({ maxAgeSeconds }: PublishedKeys): number {
  return Math.min(maxAgeSeconds === undefined ? usualAgeMs : maxAgeSeconds * 1000, longestAgeMs);
}

function unknownKey(isReplaced: boolean): SignetClientError {
  return new SignetClientError(
    'unknown-key',
    isReplaced
      ? 'none of the keys that the server publishes was known before; a new client takes them, if they were replaced on purpose'
      : 'the key is not published',
  );
}
