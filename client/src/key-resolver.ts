import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Clock } from '@signet/policy-engine/clock';
import { decodeJwkList, sharesKey } from '@signet/policy-engine/token';
import type { Jwk } from '@signet/policy-engine/wire';
import { SignetClientError } from './client-errors.ts';
import type { PublishedKeys } from './published-keys.ts';
import { SharedFlights } from './shared-flights.ts';

/** Key argument of `jwtVerify` of `jose`: finds the key that a token's header names. */
export type KeyResolver = (header: { readonly kid?: string; readonly alg?: string }) => Promise<KeyObject>;

interface KeyResolverDeps {
  readonly fetchKeys: (signal: AbortSignal) => Promise<PublishedKeys>;
  readonly clock: Clock;
}

/** Lifetime of cached keys when the server states none, and upper bound, in milliseconds. */
const usualAgeMs = 300_000;
const longestAgeMs = 3_600_000;

/** Unknown key ids, which anybody can make up, cause one request in this time, in milliseconds. */
const quietMs = 30_000;

/** First pause after a server did not answer; each failure doubles it, up to `quietMs`. */
const firstPauseMs = 1000;

/** Error and time of the last failed attempt to get keys; failures in a row before it made its pause long. */
interface Failure {
  readonly error: unknown;
  readonly at: number;
  readonly pauseMs: number;
}

/**
 * Key source for `jose`: caches the published token keys as long as the server allows and fetches them again for an unknown `kid`, at most every
 * 30 seconds. Only keys for tokens, only the algorithm of the key. A key set that shares no key with the one before is rejected: a new client
 * accepts it. If a fetch fails, the last known keys are trusted for one hour, and no call waits for the next attempt. Throws `unknown-key`, and
 * the error of the fetch.
 */
export function createKeyResolver(deps: KeyResolverDeps): KeyResolver {
  const known = new KnownKeys(deps);
  return async ({ kid, alg }) => {
    if (kid === undefined) throw new SignetClientError('unknown-key', 'the token names no key');
    const jwk = await known.find(kid);
    if (jwk?.alg !== alg) throw unknownKey(known.isReplaced);
    return createPublicKey({ key: { ...jwk }, format: 'jwk' });
  };
}

class KnownKeys {
  readonly #deps: KeyResolverDeps;
  readonly #flights = new SharedFlights<void>();
  #last: PublishedKeys | undefined;
  #keys: ReadonlyMap<string, Jwk> = new Map();
  #isReplaced = false;
  #failure: Failure | undefined;
  #isAsking = false;
  /** Time when an attempt last began or ended. */
  #askedAt = Number.NEGATIVE_INFINITY;
  #takenAt = Number.NEGATIVE_INFINITY;
  #freshUntil = Number.NEGATIVE_INFINITY;

  constructor(deps: KeyResolverDeps) {
    this.#deps = deps;
  }

  /** True if the server published keys of which none was known before. */
  get isReplaced(): boolean {
    return this.#isReplaced;
  }

  /** Throws why the server cannot be asked for a key that is not known. */
  async find(kid: string): Promise<Jwk | undefined> {
    const now = this.#deps.clock.now();
    // An earlier time than the last attempt's: the clock was set back.
    if (now >= this.#freshUntil || now < this.#askedAt) await this.#renew(now);
    else if (!this.#keys.has(kid) && now - this.#askedAt >= quietMs) await this.#ask();
    const jwk = this.#keys.get(kid);
    if (jwk === undefined && this.#failure !== undefined) throw this.#failure.error;
    return jwk;
  }

  /** Fetches the keys; after a failure only after a pause, and in the background if cached keys may be used. */
  async #renew(now: number): Promise<void> {
    const failure = this.#failure;
    const isPausing = failure !== undefined && Math.abs(now - failure.at) < failure.pauseMs;
    const isUsable = Math.abs(now - this.#takenAt) < longestAgeMs;
    if (failure !== undefined && isUsable) {
      if (!isPausing && !this.#isAsking) this.#ask().catch(() => undefined);
      return;
    }
    if (isPausing) throw failure.error;
    try {
      await this.#ask();
    } catch (error) {
      if (!isUsable) throw error;
    }
  }

  #ask(): Promise<void> {
    return this.#flights.run('keys', (signal) => this.#fetch(signal));
  }

  async #fetch(signal: AbortSignal): Promise<void> {
    const { fetchKeys, clock } = this.#deps;
    this.#askedAt = clock.now();
    this.#isAsking = true;
    try {
      this.#take(await fetchKeys(signal), clock.now());
      this.#failure = undefined;
    } catch (error) {
      const pauseMs = Math.min(quietMs, this.#failure === undefined ? firstPauseMs : this.#failure.pauseMs * 2);
      this.#failure = { error, at: clock.now(), pauseMs };
      throw error;
    } finally {
      this.#askedAt = clock.now();
      this.#isAsking = false;
    }
  }

  #take(published: PublishedKeys, now: number): void {
    this.#freshUntil = now + ageOf(published);
    this.#isReplaced = this.#last !== undefined && this.#last.keys.length > 0 && !sharesKey(this.#last, published);
    if (this.#isReplaced) return;
    this.#last = published;
    this.#takenAt = now;
    const { keys } = decodeJwkList(published);
    this.#keys = new Map(keys.flatMap((key) => (key.purpose === 'bundle' ? [] : [[key.kid, key]])));
  }
}

function ageOf({ maxAgeSeconds }: PublishedKeys): number {
  return Math.min(maxAgeSeconds === undefined ? usualAgeMs : maxAgeSeconds * 1000, longestAgeMs);
}

function unknownKey(isReplaced: boolean): SignetClientError {
  return new SignetClientError(
    'unknown-key',
    isReplaced
      ? 'none of the published keys was known before; if they were replaced on purpose, create a new client'
      : 'the key is not published',
  );
}
