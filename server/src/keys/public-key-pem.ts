import { createPublicKey } from 'node:crypto';
import type { Jwk } from '@signet/policy-engine/wire';

/** A published key as SPKI PEM. */
export function publicKeyPem(key: Jwk): string {
  return createPublicKey({ key: { ...key }, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString();
}
