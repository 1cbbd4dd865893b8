import { createHash, createVerify, KeyObject } from 'node:crypto';
import { type BundleCrypto, slicesOf, webBundleCrypto } from './bundle-crypto.ts';

/** r and s on P-256. */
const p1363Length = 64;

/** Node's own takes a text in slices as it is: WebCrypto wants it in one piece and copies that in one turn of the event loop. */
export const nodeBundleCrypto: BundleCrypto = {
  *verify(parts, signature, key) {
    // Keys of other kinds are WebCrypto's to use or to refuse.
    const isOurs = key instanceof globalThis.CryptoKey && key.type === 'public' && key.extractable;
    if (!isOurs || !key.usages.includes('verify')) return yield* webBundleCrypto.verify(parts, signature, key);
    // Node throws for what is not two numbers.
    if (key.algorithm.name === 'ECDSA' && signature.length !== p1363Length) return false;
    const verifier = createVerify('SHA256');
    for (const slice of slicesOf(parts)) {
      verifier.update(slice);
      yield;
    }
    return verifier.verify({ key: KeyObject.from(key), dsaEncoding: 'ieee-p1363' }, signature);
  },
  *digest(parts) {
    const hash = createHash('sha256');
    for (const slice of slicesOf(parts)) {
      hash.update(slice);
      yield;
    }
    return hash.digest();
  },
};
