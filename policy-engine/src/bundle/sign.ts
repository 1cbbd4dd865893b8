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

/**
 * Signs a payload as flattened JWS JSON with ES256 (docs/reference/policy-bundles.md#forms). The protected header is exactly
 * `{"kid":…,"alg":"ES256"}`. `form` is that of the signature: `p1363` (r and s, as RFC 7518 §3.4 wants it) or `der`, for old readers.
 * Throws `PolicyEngineError('invalid-options')` for a key that is not on P-256.
 */
export async function signBundle(
  data: SignedPolicyData,
  key: BundleSigningKey,
  form: 'p1363' | 'der' = 'p1363',
): Promise<JwsPolicyData> {
  const encoder = new TextEncoder();
  const protectedHeader = encodeBase64url(encoder.encode(JSON.stringify({ kid: key.kid, alg: 'ES256' })));
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
    header: { kid: key.kid },
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
