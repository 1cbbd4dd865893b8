import { decodeBase64url } from '../base64url.ts';
import { PolicyEngineError } from '../errors.ts';
import type { CryptoKey } from '../keys/index.ts';
import { readEcdsaSignature } from './ecdsa-signature.ts';

/** Input of a signature verification. */
interface SignedText {
  /** Algorithm of the protected header; one of `algorithmsOf`. */
  readonly alg: string;
  /** The signature in base64url. */
  readonly encoded: string;
  readonly key: CryptoKey;
  readonly verify: Verify;
}

/** Verifies a signature with the key, in the platform's form: for ECDSA r and s side by side. */
export type Verify = (signature: Uint8Array<ArrayBuffer>) => Promise<boolean>;

/** Encoding of a signature: r and s side by side, as in every bundle of a Signet server, or a form that an Athenz server may use. */
type SignatureEncoding = 'p1363' | 'der' | 'pkcs1';

/** Algorithms that a protected header may name. */
export function algorithmsOf(athenzBundles: boolean): readonly string[] {
  return athenzBundles ? ['ES256', 'RS256'] : ['ES256'];
}

/**
 * Verifies by the algorithm that the key is for; a header that names another one is refused. DER and RSA only where `athenzBundles` is true.
 * Throws `bundle-signature`.
 */
export async function verifySignature(
  { alg, encoded, key, verify }: SignedText,
  athenzBundles: boolean,
): Promise<SignatureEncoding> {
  const signature = decodeBase64url(encoded);
  if (signature === undefined || alg !== algorithmOf(key)) throw wrongSignature();
  if (alg === 'RS256') {
    if (await verify(signature)) return 'pkcs1';
    throw wrongSignature();
  }
  // A DER signature may be 64 bytes long as well, when r and s are short.
  if (signature.length === 64 && (await verify(signature))) return 'p1363';
  const numbers = athenzBundles ? readEcdsaSignature(signature) : undefined;
  if (numbers !== undefined && (await verify(numbers))) return 'der';
  throw wrongSignature();
}

/** Algorithm of a key; a custom key source may contain any kind. */
function algorithmOf({ algorithm }: CryptoKey): 'ES256' | 'RS256' | undefined {
  const { name, namedCurve, hash, modulusLength }: KeyFacts = algorithm;
  if (name === 'ECDSA') return namedCurve === 'P-256' ? 'ES256' : undefined;
  const isStrong = modulusLength !== undefined && modulusLength >= 2048;
  return name === 'RSASSA-PKCS1-v1_5' && hash?.name === 'SHA-256' && isStrong ? 'RS256' : undefined;
}

/** Members of a key's algorithm object; all optional. */
interface KeyFacts {
  readonly name: string;
  readonly namedCurve?: string;
  readonly hash?: { readonly name: string };
  readonly modulusLength?: number;
}

/** The error of a signature that is not the key's. */
export function wrongSignature(): PolicyEngineError {
  return new PolicyEngineError('bundle-signature', 'signature of the bundle is not valid');
}
