import { decodeBase64url, encodeBase64url } from '../base64url.ts';
import { PolicyEngineError } from '../errors.ts';
import type { Jwk, JwkList } from '../wire/index.ts';

/** Requirements on the keys of a set. */
export interface KeyRules {
  /** RSA keys of fewer bits are left out. Default and least: 2048. */
  readonly minRsaBits?: number | undefined;
}

/** The keys of a set that can be used. */
export interface DecodedKeys extends JwkList {
  /** Reasons why other keys cannot be used, a line for each. */
  readonly leftOut: readonly string[];
}

/** Algorithms that a key may be for. A key is bound to one: a token that names another is refused. */
const p256 = { crv: 'P-256', alg: 'ES256', size: 32 };
const p384 = { crv: 'P-384', alg: 'ES384', size: 48 };
const p521 = { crv: 'P-521', alg: 'ES512', size: 66 };
const curves: ReadonlyMap<unknown, typeof p256> = new Map([
  ['P-256', p256],
  ['prime256v1', p256],
  ['P-384', p384],
  ['secp384r1', p384],
  ['P-521', p521],
  ['secp521r1', p521],
]);
const rsaAlgorithms: ReadonlySet<string> = new Set(['RS256', 'RS384', 'RS512']);

/** Shorter ones are refused by `jose` as well (RFC 7518 §3.3). */
export const weakestRsaBits = 2048;

/** Upper bound of the keys in a set, above any rotation: importing more would hold up every verification with them. */
const maxKeys = 1000;

/** Smallest RSA exponent of NIST SP 800-89 §5.3.3, which must be odd as well. */
const smallestExponent = 65_537n;

/**
 * Reads a JWK list from parsed JSON. A key that cannot be used is left out, and so is one whose name another one had before it: the
 * others count. Throws `keys-malformed` for what is not a list, for one that is too long, and for one that gives a private key away.
 */
export function decodeJwkList(value: unknown, rules: KeyRules = {}): DecodedKeys {
  const entries = isRecord(value) ? value['keys'] : undefined;
  if (!Array.isArray(entries)) throw malformed('`keys` must be an array');
  if (entries.length > maxKeys) throw malformed(`it has more than ${maxKeys} keys`);
  const keys = new Map<string, Jwk>();
  const leftOut: string[] = [];
  for (const [index, entry] of entries.entries()) {
    const jwk = decodeJwk(entry, rules);
    if (typeof jwk === 'string') leftOut.push(`${labelOf(entry, index)} ${jwk}`);
    else if (keys.has(jwk.kid)) leftOut.push(`${labelOf(entry, index)} has the name of one before it`);
    else keys.set(jwk.kid, jwk);
  }
  return { keys: [...keys.values()], leftOut };
}

/** Label for logs, safe for names from elsewhere. */
function labelOf(entry: unknown, index: number): string {
  const kid = isRecord(entry) ? entry['kid'] : undefined;
  const isFit = typeof kid === 'string' && /^[\w.:~+/=-]{1,100}$/.test(kid);
  return isFit ? `key \`${kid}\`` : `key ${index + 1} of the set`;
}

type KeyMembers = Pick<Jwk, 'kid' | 'use' | 'purpose'>;

/** The key, or why it cannot be used. */
function decodeJwk(value: unknown, rules: KeyRules): Jwk | string {
  if (!isRecord(value)) return 'is not an object';
  if ('d' in value || 'k' in value) throw malformed('a key is not public');
  if (!isToVerify(value)) return 'is not to verify with (`use`, `key_ops`)';
  const { kid, kty, purpose } = value;
  if (typeof kid !== 'string' || kid === '') return 'has no `kid`';
  if (purpose !== undefined && purpose !== 'token' && purpose !== 'bundle') return 'has an unknown `purpose`';
  const members: KeyMembers = { kid, use: 'sig', ...(purpose !== undefined && { purpose }) };
  if (kty === 'EC') return decodeEc(value, members);
  if (kty === 'RSA') return decodeRsa(value, members, rules.minRsaBits ?? weakestRsaBits);
  return 'is of an unknown type (`kty`)';
}

/** True if the publisher of a key meant it for verification (RFC 7517 §4.2, §4.3). */
function isToVerify({ use, key_ops: operations }: Record<string, unknown>): boolean {
  if (use !== undefined && use !== 'sig') return false;
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
}

function decodeEc(value: Record<string, unknown>, members: KeyMembers): Jwk | string {
  const curve = curves.get(value['crv']);
  if (curve === undefined) return 'is on an unknown curve (`crv`)';
  const { alg = curve.alg } = value;
  if (alg !== curve.alg) return `is for another algorithm than \`${curve.alg}\` (\`alg\`)`;
  const point = { x: coordinate(value['x'], curve.size), y: coordinate(value['y'], curve.size) };
  if (point.x === undefined || point.y === undefined) return 'has no point (`x`, `y`)';
  return { ...members, kty: 'EC', crv: curve.crv, alg: curve.alg, x: point.x, y: point.y };
}

function decodeRsa(value: Record<string, unknown>, members: KeyMembers, minBits: number): Jwk | string {
  const { n, e, alg = 'RS256' } = value;
  if (typeof alg !== 'string' || !rsaAlgorithms.has(alg)) return 'is for an unknown algorithm (`alg`)';
  if (typeof n !== 'string' || typeof e !== 'string') return 'has no modulus and exponent (`n`, `e`)';
  const [modulus, exponent] = [integer(n), integer(e)];
  if (modulus === undefined || exponent === undefined) return 'has no modulus and exponent (`n`, `e`)';
  if (modulus.toString(2).length < minBits) return `has fewer than ${minBits} bits (\`n\`)`;
  if (exponent < smallestExponent || exponent % 2n === 0n) return 'has a weak exponent (`e`)';
  return { ...members, kty: 'RSA', alg, n, e };
}

function integer(text: string): bigint | undefined {
  const bytes = decodeBase64url(text);
  return bytes === undefined || bytes.length === 0 ? undefined : BigInt(`0x${hexOf(bytes)}`);
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The error for a set that is of no use. */
export function noUsableKey({ leftOut }: DecodedKeys): PolicyEngineError {
  const [first] = leftOut;
  return new PolicyEngineError(
    'keys-malformed',
    `key set holds no usable key${first === undefined ? '' : `: ${first}`}`,
  );
}

function malformed(what: string): PolicyEngineError {
  return new PolicyEngineError('keys-malformed', `key set is malformed: ${what}`);
}
