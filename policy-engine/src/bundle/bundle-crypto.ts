import type { CryptoKey } from '../keys/index.ts';
import type { Steps } from '../steps/steps.ts';

/** SHA-256, and signatures over it, of long texts in parts. What is a promise is computed elsewhere meanwhile. */
export interface BundleCrypto {
  /** `key` is of ECDSA on P-256 (the signature is r and s) or of RSASSA-PKCS1-v1_5. */
  verify(
    parts: readonly Uint8Array[],
    signature: Uint8Array<ArrayBuffer>,
    key: CryptoKey,
  ): Steps<boolean | Promise<boolean>>;
  digest(parts: readonly Uint8Array[]): Steps<Uint8Array | Promise<Uint8Array>>;
}

/** Portable form: takes a text as a whole, and copies it once more. */
export const webBundleCrypto: BundleCrypto = {
  *verify(parts, signature, key) {
    const { name } = key.algorithm;
    return crypto.subtle.verify({ name, hash: 'SHA-256' }, key, signature, yield* joined(parts));
  },
  *digest(parts) {
    return crypto.subtle.digest('SHA-256', yield* joined(parts)).then((hash) => new Uint8Array(hash));
  },
};

/** Bytes between two yields. */
const sliceLength = 1_048_576;

/** The same bytes in slices. */
export function* slicesOf(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const part of parts) {
    for (let from = 0; from < part.length; from += sliceLength) yield part.subarray(from, from + sliceLength);
  }
}

function* joined(parts: readonly Uint8Array[]): Steps<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const slice of slicesOf(parts)) {
    bytes.set(slice, at);
    at += slice.length;
    yield;
  }
  return bytes;
}
