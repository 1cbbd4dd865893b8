import { type KeyObject, sign } from 'node:crypto';
import { derNull, sequence } from '@signet/policy-engine/internal/der';
import type { NameConstraints } from './name-constraints.ts';
import { type Oid, oids } from './oids.ts';

/** A certificate authority that signs: one intermediate with its private key. */
export interface Issuer {
  /** Subject key identifier in hexadecimal. */
  readonly id: string;
  /** The Name that its certificates carry as issuer, as it stands in its own certificate. */
  readonly name: Buffer;
  readonly keyIdentifier: Buffer;
  readonly kind: SigningKind;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** Seconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
  /** Addresses of its revocation list, as its certificates state them. */
  readonly distributionPoints: readonly string[];
  /** Constraints of its own certificate and of those above it. */
  readonly nameConstraints: readonly NameConstraints[];
  /** Chain: its own certificate, and those up to the root without it, as they follow a leaf. PEM. */
  readonly chainPem: string;
}

export type SigningKind = 'P-256' | 'P-384' | 'rsa';

function identifier(algorithm: Oid, parameters?: Uint8Array): Buffer {
  return parameters === undefined ? sequence(algorithm.der) : sequence(algorithm.der, parameters);
}

/** The digest and the AlgorithmIdentifier of each kind of issuing key (RFC 5758 §3.2: no parameters; RFC 4055 §5: NULL). */
export const signatureOf: Readonly<Record<SigningKind, { readonly digest: string; readonly algorithm: Buffer }>> = {
  'P-256': { digest: 'sha256', algorithm: identifier(oids.ecdsaWithSha256) },
  'P-384': { digest: 'sha384', algorithm: identifier(oids.ecdsaWithSha384) },
  rsa: { digest: 'sha256', algorithm: identifier(oids.sha256WithRsa, derNull) },
};

/** The signature over a to-be-signed part, in the form that certificates and revocation lists carry. */
export function signAs(issuer: Pick<Issuer, 'kind' | 'privateKey'>, tbs: Buffer): Buffer {
  return sign(signatureOf[issuer.kind].digest, tbs, issuer.privateKey);
}
