import type { Clock } from '@signet/policy-engine/clock';
import { type CompactVerifyGetKey, createLocalJWKSet, errors } from 'jose';
import { z } from 'zod';
import { ServiceUnavailableError } from '../errors.ts';
import { keySetSchema } from '../instances/attestation/jwt-keys.ts';
import type { BoundedFetch } from './bounded-fetch.ts';

/** Keys are asked for again after this time, and for a key that is not among them. */
const freshMs = 600_000;
/** While they cannot be had, those known are used for so long. */
const usableMs = 3_600_000;
/** They are asked for again not more often than this, whatever comes. */
const pauseMs = 10_000;

const discoverySchema = z.looseObject({ issuer: z.string(), jwks_uri: z.string() });

interface KnownKeys {
  readonly find: CompactVerifyGetKey;
  readonly at: number;
}

/**
 * The keys of an issuer as it publishes them (OpenID Connect Discovery §4): asked for when the first token comes, so that a server starts
 * without its issuer. Throws `ServiceUnavailableError`.
 */
export function discoveredKeys(issuer: string, fetch: BoundedFetch, clock: Clock): CompactVerifyGetKey {
  let known: KnownKeys | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;
  let failure: unknown;
  // A clock that was set back makes nothing young.
  const ageOf = (at: number) => Math.abs(clock.now() - at);

  const ask = async (): Promise<void> => {
    triedAt = clock.now();
    const found = discoverySchema.parse(
      await json(fetch, `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`),
    );
    // INVARIANT: another issuer's document would have its keys speak for this one (OpenID Connect Discovery §4.3).
    if (found.issuer !== issuer) throw new Error('the document of the issuer names another issuer');
    const keys = keySetSchema.parse(await json(fetch, found.jwks_uri));
    known = { find: createLocalJWKSet(keys), at: clock.now() };
  };
  /** Whether they are newer than before. */
  const refresh = async (): Promise<boolean> => {
    const before = known;
    if (asking === undefined && ageOf(triedAt) < pauseMs) return false;
    asking ??= ask()
      .catch((error: unknown) => {
        failure = error;
      })
      .finally(() => {
        asking = undefined;
      });
    await asking;
    return known !== before;
  };
  const current = (): CompactVerifyGetKey => {
    if (known !== undefined && ageOf(known.at) < usableMs) return known.find;
    throw new ServiceUnavailableError('the keys of the issuer cannot be had', {
      cause: failure,
      detail: { issuer, reason: String(failure) },
    });
  };
  return async (header, token) => {
    if (known === undefined || ageOf(known.at) >= freshMs) await refresh();
    try {
      return await current()(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey && (await refresh())) return current()(header, token);
      throw error;
    }
  };
}

async function json(fetch: BoundedFetch, address: string): Promise<unknown> {
  const answer = await fetch(address, { headers: { accept: 'application/json' } });
  if (answer.status !== 200) throw new Error(`the issuer answered ${answer.status}`);
  return answer.json();
}
