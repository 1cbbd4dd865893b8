import { type KeyObject, sign } from 'node:crypto';

/** A key that signs: its id and the private P-256 key. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

/** Signs one kind of token with one key. */
export interface TokenSigner {
  /** A compact JWS (RFC 7515 §7.1) over the JSON text of the claims. */
  sign(claims: string): string;
}

/**
 * ES256 on the calling thread. `typ` is `at+jwt` for access tokens (RFC 9068 §2.1) and `JWT` for ID tokens.
 * The bare key and the DER form are what Node signs fastest with; one request costs one signature, so this shows.
 */
export function tokenSigner(key: SigningKey, typ: 'at+jwt' | 'JWT'): TokenSigner {
  const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid: key.kid, typ })).toString('base64url');
  return {
    sign(claims) {
      const input = `${header}.${Buffer.from(claims).toString('base64url')}`;
      const der = sign('sha256', Buffer.from(input, 'latin1'), key.privateKey);
      return `${input}.${p1363FromDer(der).toString('base64url')}`;
    },
  };
}

/** r and s of a DER ECDSA signature over P-256, 32 bytes each (RFC 7518 §3.4). */
export function p1363FromDer(der: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(64).fill(0);
  // SEQUENCE { INTEGER r, INTEGER s }: both lengths fit one byte, an integer may have a leading zero or be short.
  const rLength = der[3] ?? 0;
  const sAt = 4 + rLength + 2;
  const sLength = der[sAt - 1] ?? 0;
  out.set(der.subarray(4 + Math.max(0, rLength - 32), 4 + rLength), Math.max(0, 32 - rLength));
  out.set(der.subarray(sAt + Math.max(0, sLength - 32), sAt + sLength), 32 + Math.max(0, 32 - sLength));
  return out;
}
