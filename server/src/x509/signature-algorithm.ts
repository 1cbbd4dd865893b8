import { type KeyObject, verify } from 'node:crypto';
import { type DerReader, tags } from '@signet/policy-engine/internal/der';
import { oids } from './oids.ts';

/** Signature algorithm of a message. */
export interface SignatureAlgorithm {
  readonly digest: 'sha256' | 'sha384' | 'sha512' | null;
  readonly family: 'ec' | 'rsa' | 'ed25519';
}

const signatureAlgorithms = new Map<string, SignatureAlgorithm>([
  [oids.ecdsaWithSha256.hex, { digest: 'sha256', family: 'ec' }],
  [oids.ecdsaWithSha384.hex, { digest: 'sha384', family: 'ec' }],
  [oids.ecdsaWithSha512.hex, { digest: 'sha512', family: 'ec' }],
  [oids.sha256WithRsa.hex, { digest: 'sha256', family: 'rsa' }],
  [oids.sha384WithRsa.hex, { digest: 'sha384', family: 'rsa' }],
  [oids.sha512WithRsa.hex, { digest: 'sha512', family: 'rsa' }],
  [oids.ed25519.hex, { digest: null, family: 'ed25519' }],
]);

/** Reads an AlgorithmIdentifier of a signature: ECDSA or RSA PKCS #1 with SHA-2, or Ed25519; undefined for another one. Throws `DerError`. */
export function readSignatureAlgorithm(reader: DerReader): SignatureAlgorithm | undefined {
  const identifier = reader.enter(tags.sequence, 'the signature algorithm');
  const found = signatureAlgorithms.get(identifier.oid('the signature algorithm'));
  if (found === undefined) return undefined;
  if (found.family === 'rsa' && !identifier.done) identifier.content(tags.null, 'the signature parameters');
  identifier.finish('the signature algorithm');
  return found;
}

/** A public key, loaded or in PEM form, and its family. */
interface VerificationKey {
  readonly family: string | undefined;
  readonly key: KeyObject | string;
}

/** True if a signature over a message was made with the private half of a key. */
export function isSignedBy(
  { family, key }: VerificationKey,
  algorithm: SignatureAlgorithm,
  { signed, signature }: { readonly signed: Buffer; readonly signature: Buffer },
): boolean {
  try {
    return family === algorithm.family && verify(algorithm.digest, signed, key, signature);
  } catch {
    return false;
  }
}
