import type { CryptoKey } from 'jose';
import { compactVerify } from 'jose/jws/compact/verify';

/** A token in the form of a JWS (RFC 7515 §7.1) whose parts were found to be canonical base64url. */
export interface SignedText {
  readonly text: string;
  /** Algorithm of the token header; one of `signatureAlgorithms`. */
  readonly algorithm: string;
  readonly signature: Uint8Array;
}

/** Checks that the key signed the token with the algorithm, and is a key for that algorithm. An exception or a rejection means false. */
export type CheckSignature = (signed: SignedText, key: CryptoKey) => boolean | Promise<boolean>;

/** The algorithms of which a token may name one. */
export const signatureAlgorithms: readonly string[] = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512'];

/** `CheckSignature` wherever WebCrypto is. */
export const checkWebSignature: CheckSignature = ({ text, algorithm }, key) =>
  compactVerify(text, key, { algorithms: [algorithm] }).then(
    () => true,
    () => false,
  );
