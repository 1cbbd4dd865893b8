import { KeyObject, verify } from 'node:crypto';
import { sequence, unsigned } from '../der/der-writer.ts';
import { weakestRsaBits } from '../keys/decode-jwk.ts';
import type { CryptoKey } from '../keys/index.ts';
import { type CheckSignature, checkWebSignature } from './signature.ts';

/** A public key with the one algorithm that it is for. */
interface VerifyingKey {
  readonly object: KeyObject;
  readonly algorithm: string;
}

interface Algorithm {
  readonly hash: string;
  /** Bytes of a signature on a curve, which is two numbers of fixed length (RFC 7518 §3.4). */
  readonly bytes?: number;
}

const algorithms: ReadonlyMap<string, Algorithm> = new Map([
  ['RS256', { hash: 'sha256' }],
  ['RS384', { hash: 'sha384' }],
  ['RS512', { hash: 'sha512' }],
  ['ES256', { hash: 'sha256', bytes: 64 }],
  ['ES384', { hash: 'sha384', bytes: 96 }],
  ['ES512', { hash: 'sha512', bytes: 132 }],
]);
const curveAlgorithms: ReadonlyMap<unknown, string> = new Map([
  ['P-256', 'ES256'],
  ['P-384', 'ES384'],
  ['P-521', 'ES512'],
]);

const known = new WeakMap<CryptoKey, VerifyingKey>();

/**
 * `CheckSignature` of Node, on the thread of its caller: one verification costs less than the way to another thread and back
 * (docs/decisions/095-cost-of-a-decision.md). Keys of other kinds than `CryptoKey` are left to `checkWebSignature`.
 */
export const checkNodeSignature: CheckSignature = (signed, key) => {
  const verifying = verifyingKey(key);
  if (verifying === undefined) return checkWebSignature(signed, key);
  const { text, algorithm, signature } = signed;
  const rule = algorithms.get(algorithm);
  if (rule === undefined || algorithm !== verifying.algorithm) return false;
  if (rule.bytes !== undefined && signature.length !== rule.bytes) return false;
  const input = Buffer.from(text.slice(0, text.lastIndexOf('.')), 'latin1');
  return verify(rule.hash, input, verifying.object, rule.bytes === undefined ? signature : derOf(signature));
};

/**
 * Converts two numbers side by side to `SEQUENCE { INTEGER r, INTEGER s }` (RFC 3279 §2.2.3). Node's own handling of the other form takes nearly
 * half as long again: most of that to find out that the options beside the key are not a key.
 */
function derOf(signature: Uint8Array): Buffer {
  const half = signature.length / 2;
  return sequence(unsigned(signature.subarray(0, half)), unsigned(signature.subarray(half)));
}

function verifyingKey(key: CryptoKey): VerifyingKey | undefined {
  const earlier = known.get(key);
  if (earlier !== undefined) return earlier;
  if (!(key instanceof globalThis.CryptoKey) || key.type !== 'public' || !key.usages.includes('verify'))
    return undefined;
  const algorithm = algorithmOf(key.algorithm);
  if (algorithm === undefined) return undefined;
  const verifying = { object: KeyObject.from(key), algorithm };
  known.set(key, verifying);
  return verifying;
}

/** Algorithm of a key by its name in RFC 7518 §3.1; `undefined` for a key of another purpose, or a weak one. */
function algorithmOf(parameters: object): string | undefined {
  const { name, namedCurve, hash, modulusLength }: Record<string, unknown> = { ...parameters };
  if (name === 'ECDSA') return curveAlgorithms.get(namedCurve);
  if (name !== 'RSASSA-PKCS1-v1_5' || typeof modulusLength !== 'number' || modulusLength < weakestRsaBits)
    return undefined;
  const bits = typeof hash === 'object' && hash !== null && 'name' in hash ? `${hash.name}`.slice('SHA-'.length) : '';
  return algorithms.has(`RS${bits}`) ? `RS${bits}` : undefined;
}
