import { type CryptoKey, importJWK } from 'jose';
import { decodeBase64url, encodeBase64url } from '../base64url.ts';
import { PolicyEngineError } from '../errors.ts';
import type { Jwk, JwkList, KeyPurpose } from '../wire/index.ts';

/** Where the public keys that verify tokens and bundles come from. */
export interface KeySource {
  /** The key of this name, when it may verify that kind of object. Rejects only when the source itself fails. */
  find(kid: string, purpose: KeyPurpose): Promise<CryptoKey | undefined>;
  /**
   * Grows when a key was withdrawn or replaced: what was verified under an earlier revision is verified again. A source
   * that cannot tell leaves it out; then everything is verified again after a minute.
   */
  readonly revision?: number;
  /** Why the latest look for keys failed, when it did; `health()` reports it. */
  readonly error?: PolicyEngineError | undefined;
}

/** Algorithms that a key may be for. A key is bound to one: a token that names another is refused. */
const p256 = { crv: 'P-256', alg: 'ES256', size: 32 };
const p384 = { crv: 'P-384', alg: 'ES384', size: 48 };
const p521 = { crv: 'P-521', alg: 'ES512', size: 66 };
const curves: ReadonlyMap<string, typeof p256> = new Map([
  ['P-256', p256],
  ['prime256v1', p256],
  ['P-384', p384],
  ['secp384r1', p384],
  ['P-521', p521],
  ['secp521r1', p521],
]);
const rsaAlgorithms: ReadonlySet<string> = new Set(['RS256', 'RS384', 'RS512']);

interface KnownKey {
  readonly purpose: KeyPurpose | undefined;
  readonly key: Promise<CryptoKey | undefined>;
}

/**
 * The keys of a list that never changes, e.g. the answer of `GET /oauth2/keys`. Both curve names are understood (`P-256` and
 * `prime256v1`); keys of other types are left out. A key with a `purpose` serves only that purpose, one without serves both.
 * Throws `PolicyEngineError('keys-malformed')` for what is not an array, for private keys and for two keys of one name.
 */
export function staticKeys(list: JwkList): KeySource {
  const keys = new Map<string, KnownKey>();
  for (const jwk of decodeJwkList(list).keys) {
    if (keys.has(jwk.kid)) throw malformed(`two keys are named \`${jwk.kid}\``);
    keys.set(jwk.kid, { purpose: jwk.purpose, key: importPublicKey(jwk) });
  }
  return {
    revision: 0,
    find: async (kid, purpose) => {
      const known = keys.get(kid);
      return known === undefined || (known.purpose ?? purpose) !== purpose ? undefined : known.key;
    },
  };
}

/**
 * Whether two key sets have a key in common: the same name over the same material. Rotation publishes a key before it signs and keeps
 * one until its last signature ends, so that the sets of one issuer always do; a set that shares none is of somebody else.
 */
export function sharesKey(before: JwkList, after: JwkList): boolean {
  const known = new Set(decodeJwkList(before).keys.map(materialOf));
  return decodeJwkList(after).keys.some((jwk) => known.has(materialOf(jwk)));
}

function materialOf({ kid, kty, crv, x, y, n, e }: Jwk): string {
  return JSON.stringify([kid, kty, crv, x, y, n, e]);
}

type KeyMembers = Pick<Jwk, 'kid' | 'use' | 'purpose'>;

/** Reads a JWK list from parsed JSON. Entries of unknown key types are left out. Throws `keys-malformed`. */
export function decodeJwkList(value: unknown): JwkList {
  const keys = isRecord(value) ? value['keys'] : undefined;
  if (!Array.isArray(keys)) throw malformed('`keys` must be an array');
  return { keys: keys.flatMap((entry: unknown) => decodeJwk(entry) ?? []) };
}

function decodeJwk(value: unknown): Jwk | undefined {
  if (!isRecord(value)) throw malformed('a key must be an object');
  if ('d' in value || 'k' in value) throw malformed('a key is not public');
  const { kid, kty, purpose, use } = value;
  if (typeof kid !== 'string' || kid === '') throw malformed('a key has no `kid`');
  if (use !== undefined && use !== 'sig') return undefined;
  if (purpose !== undefined && purpose !== 'token' && purpose !== 'bundle') return undefined;
  const members: KeyMembers = { kid, use: 'sig', ...(purpose !== undefined && { purpose }) };
  if (kty === 'EC') return decodeEc(value, members);
  if (kty === 'RSA') return decodeRsa(value, members);
  return undefined;
}

function decodeEc(value: Record<string, unknown>, members: KeyMembers): Jwk | undefined {
  const { crv, x, y } = value;
  const curve = typeof crv === 'string' ? curves.get(crv) : undefined;
  if (curve === undefined) return undefined;
  const point = { x: coordinate(x, curve.size), y: coordinate(y, curve.size) };
  if (point.x === undefined || point.y === undefined) return undefined;
  return { ...members, kty: 'EC', crv: curve.crv, alg: curve.alg, x: point.x, y: point.y };
}

function decodeRsa(value: Record<string, unknown>, members: KeyMembers): Jwk | undefined {
  const { n, e, alg = 'RS256' } = value;
  if (typeof n !== 'string' || typeof e !== 'string') return undefined;
  if (typeof alg !== 'string' || !rsaAlgorithms.has(alg)) return undefined;
  return { ...members, kty: 'RSA', alg, n, e };
}

/** Some makers leave leading zeros out, others write one byte too many: both become the fixed length of RFC 7518 §6.2.1.2. */
function coordinate(value: unknown, size: number): string | undefined {
  const bytes = typeof value === 'string' ? decodeBase64url(value) : undefined;
  if (bytes === undefined) return undefined;
  const start = bytes.findIndex((byte) => byte !== 0);
  const significant = start < 0 ? new Uint8Array() : bytes.subarray(start);
  if (significant.length > size) return undefined;
  const padded = new Uint8Array(size);
  padded.set(significant, size - significant.length);
  return encodeBase64url(padded);
}

/** A key that cannot be imported (a point that is not on the curve, say) is one that nobody has. */
async function importPublicKey(jwk: Jwk): Promise<CryptoKey | undefined> {
  const { purpose: _, kid: __, use: ___, ...members } = jwk;
  try {
    const key = await importJWK(members, jwk.alg);
    return key instanceof Uint8Array ? undefined : key;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function malformed(what: string): PolicyEngineError {
  return new PolicyEngineError('keys-malformed', `key set is malformed: ${what}`);
}
