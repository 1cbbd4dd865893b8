import { hash } from 'node:crypto';
import type { Jwk } from '@signet/policy-engine/wire';
import type { SigningKeyRecord } from './records.ts';

/** Thumbprint of a key on a curve (RFC 7638 §3.2): the required members in lexicographic order, no white space. */
export function jwkThumbprint({ kty, crv, x, y }: Pick<Jwk, 'kty' | 'crv' | 'x' | 'y'>): string {
  return hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');
}

/** Fault of a record that does not hold the key that it names, as when another program has written it; undefined if valid. */
export function signingKeyFault({ kid, publicJwk }: Pick<SigningKeyRecord, 'kid' | 'publicJwk'>): string | undefined {
  if (publicJwk.kid === kid && jwkThumbprint(publicJwk) === kid) return undefined;
  return `the public half of signing key \`${kid}\` is that of another key`;
}
