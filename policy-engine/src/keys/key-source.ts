import type { CryptoKey } from 'jose';
import { importJWK } from 'jose/key/import';
import type { PolicyEngineError } from '../errors.ts';
import type { Jwk, JwkList, KeyPurpose } from '../wire/index.ts';
import { decodeJwkList, type KeyRules } from './decode-jwk.ts';

export { decodeJwkList, type KeyRules };

/** Source of the public keys that verify tokens and bundles. */
export interface KeySource {
  /** The key of this name, when it may verify that kind of object. Rejects only when the source itself fails. */
  find(kid: string, purpose: KeyPurpose): Promise<CryptoKey | undefined>;
  /**
   * Counter of withdrawals and replacements of keys: earlier verifications are repeated after a change. A source that cannot tell leaves it out;
   * then everything is verified again after a minute.
   */
  readonly revision?: number;
  /** Error of the latest refresh of keys, if it failed; `health()` reports it. */
  readonly error?: PolicyEngineError | undefined;
  /** Reasons why keys of the set are left out, a line for each; `health()` reports it. */
  readonly leftOut?: readonly string[] | undefined;
}

/** Lifetime of a verification when the source cannot tell that a key was withdrawn, in milliseconds. */
export const blindLife = 60_000;

interface KnownKey {
  readonly purpose: KeyPurpose | undefined;
  readonly key: Promise<CryptoKey | undefined>;
}

/**
 * The keys of a list that never changes, e.g. the answer of `GET /oauth2/keys`. Both curve names are understood (`P-256` and
 * `prime256v1`). A key with a `purpose` serves only that purpose, one without serves both. Keys that cannot be used are left out
 * (`leftOut`). Throws `PolicyEngineError('keys-malformed')` for what is not an array, and for private keys.
 */
export function staticKeys(list: JwkList, rules: KeyRules = {}): KeySource {
  const decoded = decodeJwkList(list, rules);
  const keys = new Map<string, KnownKey>(
    decoded.keys.map((jwk) => [jwk.kid, { purpose: jwk.purpose, key: importPublicKey(jwk) }]),
  );
  return {
    revision: 0,
    leftOut: decoded.leftOut,
    find: async (kid, purpose) => {
      const known = keys.get(kid);
      return known === undefined || (known.purpose ?? purpose) !== purpose ? undefined : known.key;
    },
  };
}

/**
 * True if two key sets have a key in common: the same name over the same material. Rotation publishes a key before it signs and keeps one until
 * its last signature ends, so that two sets of one issuer always share one; a set that shares none belongs to another issuer.
 */
export function sharesKey(before: JwkList, after: JwkList): boolean {
  const known = new Set(decodeJwkList(before).keys.map(materialOf));
  return decodeJwkList(after).keys.some((jwk) => known.has(materialOf(jwk)));
}

function materialOf({ kid, kty, crv, x, y, n, e }: Jwk): string {
  return JSON.stringify([kid, kty, crv, x, y, n, e]);
}

/** Imports a key; undefined if that fails, as for a point that is not on the curve. */
async function importPublicKey(jwk: Jwk): Promise<CryptoKey | undefined> {
  const { purpose: _, kid: __, use: ___, ...members } = jwk;
  try {
    const key = await importJWK(members, jwk.alg);
    return key instanceof Uint8Array ? undefined : key;
  } catch {
    return undefined;
  }
}
