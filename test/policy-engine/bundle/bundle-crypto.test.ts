import type { webcrypto } from 'node:crypto';
import { runAtOnce, type Steps } from '@signet/policy-engine/internal/steps';
import test from 'ava';
import { internals } from '../../limits/row.ts';

/* Node's own answers what WebCrypto answers, in slices. */

interface BundleCrypto {
  verify(
    parts: readonly Uint8Array[],
    signature: Uint8Array,
    key: webcrypto.CryptoKey,
  ): Steps<boolean | Promise<boolean>>;
  digest(parts: readonly Uint8Array[]): Steps<Uint8Array | Promise<Uint8Array>>;
}
const { webBundleCrypto } = await internals<{ webBundleCrypto: BundleCrypto }>(
  'policy-engine/src/bundle/bundle-crypto.ts',
);
const { nodeBundleCrypto } = await internals<{ nodeBundleCrypto: BundleCrypto }>(
  'policy-engine/src/bundle/node-bundle-crypto.ts',
);

const { subtle } = crypto;
const elliptic = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const rsa = { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1), hash: 'SHA-256' };
const pairs = new Map<string, webcrypto.CryptoKeyPair>([
  ['ES256', await subtle.generateKey(elliptic, true, ['sign', 'verify'])],
  ['RS256', await subtle.generateKey(rsa, true, ['sign', 'verify'])],
]);
const texts: readonly (readonly Uint8Array[])[] = [
  [],
  [new Uint8Array(0), Uint8Array.of(1)],
  [Uint8Array.of(1, 2), new Uint8Array(3_000_000).fill(7), Uint8Array.of(3)],
];

for (const [name, { privateKey, publicKey }] of pairs) {
  test(`${name}: a signature is valid, and one of another text, key or length is not`, async (t) => {
    for (const parts of texts) {
      const whole = Buffer.concat(parts);
      const good = new Uint8Array(
        await subtle.sign({ name: privateKey.algorithm.name, hash: 'SHA-256' }, privateKey, whole),
      );
      const signatures = [good, good.toReversed(), good.subarray(1), new Uint8Array(0), new Uint8Array(good.length)];
      for (const platform of [webBundleCrypto, nodeBundleCrypto]) {
        const outcomes = signatures.map((signature) => runAtOnce(platform.verify(parts, signature, publicKey)));
        t.deepEqual(await Promise.all(outcomes), [true, false, false, false, false]);
        t.false(await runAtOnce(platform.verify([...parts, Uint8Array.of(0)], good, publicKey)));
      }
    }
  });
}

test('a key that may not verify is refused by both', async (t) => {
  for (const { privateKey, publicKey } of pairs.values()) {
    const { name } = publicKey.algorithm;
    const unused = await subtle.importKey(
      'spki',
      await subtle.exportKey('spki', publicKey),
      { ...elliptic, name },
      true,
      [],
    );
    for (const key of [privateKey, unused]) {
      for (const platform of [webBundleCrypto, nodeBundleCrypto]) {
        await t.throwsAsync(async () => runAtOnce(platform.verify([], new Uint8Array(64), key)));
      }
    }
  }
});

test('a key that may not leave the platform verifies', async (t) => {
  const [pair] = pairs.values();
  if (pair === undefined) return t.fail();
  const spki = await subtle.exportKey('spki', pair.publicKey);
  const held = await subtle.importKey('spki', spki, elliptic, false, ['verify']);
  const signature = new Uint8Array(await subtle.sign(elliptic, pair.privateKey, Uint8Array.of(1)));
  t.true(await runAtOnce(nodeBundleCrypto.verify([Uint8Array.of(1)], signature, held)));
});

test('digests are the same, and a long text is hashed in slices', async (t) => {
  for (const parts of texts) {
    const [web, node] = [webBundleCrypto, nodeBundleCrypto].map((platform) => runAtOnce(platform.digest(parts)));
    t.deepEqual(new Uint8Array((await node) ?? []), await web);
  }
  t.true([...nodeBundleCrypto.digest([new Uint8Array(10_000_000)])].length >= 9);
});
