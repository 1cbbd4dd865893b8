import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Jwk, KeyPurpose } from '@signet/policy-engine/wire';
import { jwkThumbprint } from '../model/jwk-thumbprint.ts';
import type { SigningKeyRecord } from '../model/records.ts';

interface NewSigningKey {
  readonly record: SigningKeyRecord;
  readonly privateKey: KeyObject;
}

/**
 * A new P-256 key pair and its record. Times in milliseconds since the epoch. Its `kid` does not begin with `-`, which a command line takes
 * for an option.
 */
export function newSigningKey(purpose: KeyPurpose, createdAt: number, activateAt: number): NewSigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicJwk = publicJwkOf(privateKey);
  if (publicJwk.kid.startsWith('-')) return newSigningKey(purpose, createdAt, activateAt);
  return {
    privateKey,
    record: { kid: publicJwk.kid, purpose, algorithm: 'ES256', publicJwk, createdAt, activateAt },
  };
}

/** The public half of a P-256 private key as a JWK whose `kid` is its thumbprint (RFC 7638). */
export function publicJwkOf(privateKey: KeyObject): Jwk {
  const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined) {
    throw new TypeError('a signing key must be a P-256 key');
  }
  // Node pads x and y to 32 bytes (RFC 7518 §6.2.1.2).
  const kid = jwkThumbprint({ kty, crv, x, y });
  return { kty, kid, alg: 'ES256', use: 'sig', crv, x, y };
}
