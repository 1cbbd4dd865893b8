import type { Clock } from '@signet/policy-engine/clock';
import { type CompactVerifyGetKey, createLocalJWKSet } from 'jose';
import { z } from 'zod';
import { type BoundedFetch, fetchJson } from '../base/bounded-fetch.ts';
import { ServiceUnavailableError } from '../errors.ts';
import { fetchedKeys } from '../instances/attestation/fetched-keys.ts';
import { keySetSchema } from '../instances/attestation/jwt-keys.ts';

const discoverySchema = z.looseObject({ issuer: z.string(), jwks_uri: z.string() });

/** The keys of an issuer as it publishes them (OpenID Connect Discovery §4). Throws `ServiceUnavailableError`. */
export function discoveredKeys(issuer: string, fetch: BoundedFetch, clock: Clock): CompactVerifyGetKey {
  const load = async (): Promise<CompactVerifyGetKey> => {
    const found = discoverySchema.parse(
      await fetchJson(fetch, `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`),
    );
    // INVARIANT: another issuer's document would have its keys speak for this one (OpenID Connect Discovery §4.3).
    if (found.issuer !== issuer) throw new Error('the document of the issuer names another issuer');
    return createLocalJWKSet(keySetSchema.parse(await fetchJson(fetch, found.jwks_uri)));
  };
  const unavailable = (cause: unknown) =>
    new ServiceUnavailableError('the keys of the issuer cannot be had', {
      cause,
      detail: { issuer, reason: String(cause) },
    });
  return fetchedKeys({ load, clock, unavailable });
}
