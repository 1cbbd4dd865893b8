import type { KeyObject } from 'node:crypto';
import { decodeBase64url, encodeBase64url } from '../base64url.ts';
import { sequence, unsigned } from '../der/der-writer.ts';
import { PolicyEngineError } from '../errors.ts';
import type { CryptoKey } from '../keys/index.ts';
import type { JwsPolicyData, SignedPolicyData } from '../wire/index.ts';

/** A P-256 private key and the name under which its public half is published. */
export interface BundleSigningKey {
  kid: string;
  privateKey: KeyObject | CryptoKey;
}

/** What a bundle is, for readers that know more than one kind of signed object (RFC 8725 §3.11). */
const bundleType = 'signet-bundle+jws';

/**
 * `rfc7515`: what any JWS library verifies, with a `typ`. The others are those of Athenz, whose readers want `kid` in a second
 * header: with a signature as r and s (`p1363`), or in DER for old ones.
 */
export type BundleForm = 'rfc7515' | 'p1363' | 'der';

/**
 * Signs a payload as flattened JWS JSON with ES256 (docs/reference/policy-bundles.md#forms).
 * Throws `PolicyEngineError('invalid-options')` for a key that is not on P-256.
 */
export async function signBundle(
  data: SignedPolicyData,
  key: BundleSigningKey,
  form: BundleForm = 'p1363',
): Promise<JwsPolicyData> {
  const encoder = new TextEncoder();
  const protectedHeader = encodeBase64url(encoder.encode(JSON.stringify(headerOf(key.kid, form))));
  const payload = encodeBase64url(encoder.encode(JSON.stringify(data)));
  const signature = new Uint8Array(
    await crypto.subtle.sign(
      { name: 'ECDSA', hash: 'SHA-256' },
      signingKey(key.privateKey),
      encoder.encode(`${protectedHeader}.${payload}`),
    ),
  );
  const bundle = {
    payload,
    protected: protectedHeader,
    ...(form !== 'rfc7515' && { header: { kid: key.kid } }),
    signature: encodeBase64url(signature),
  };
  return form === 'der' ? withDerSignature(bundle) : bundle;
}

/** The same bundle for old readers: with the one signature that it has, in DER. The bundle must have it as r and s, as `signBundle` makes it. */
export function withDerSignature(bundle: JwsPolicyData): JwsPolicyData {
  const signature = decodeBase64url(bundle.signature);
  if (signature?.length !== 64) {
    throw new PolicyEngineError('invalid-options', 'the signature must be r and s of P-256, 32 bytes each');
  }
  return { ...bundle, signature: encodeBase64url(derSignature(signature)) };
}

function headerOf(kid: string, form: BundleForm): object {
  return form === 'rfc7515' ? { kid, alg: 'ES256', typ: bundleType } : { kid, alg: 'ES256' };
}

function signingKey(key: KeyObject | CryptoKey): CryptoKey {
  try {
    return 'toCryptoKey' in key ? key.toCryptoKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']) : key;
  } catch (cause) {
    throw new PolicyEngineError('invalid-options', 'the signing key is not a P-256 private key', { cause });
  }
}

/** From r and s side by side to `SEQUENCE { INTEGER r, INTEGER s }`. */
function derSignature(p1363: Uint8Array): Uint8Array {
  return sequence(unsigned(p1363.subarray(0, p1363.length / 2)), unsigned(p1363.subarray(p1363.length / 2)));
}
