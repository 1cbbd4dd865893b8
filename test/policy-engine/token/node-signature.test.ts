import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { CryptoKey } from '@signet/policy-engine';
import test from 'ava';
import { importJWK } from 'jose';
import { internals } from '../../limits/row.ts';

interface Signed {
  readonly text: string;
  readonly algorithm: string;
  readonly signature: Uint8Array;
}
type Check = (signed: Signed, key: CryptoKey) => boolean | Promise<boolean>;
const { checkNodeSignature } = await internals<{ checkNodeSignature: Check }>(
  'policy-engine/src/token/node-signature.ts',
);
const { checkWebSignature } = await internals<{ checkWebSignature: Check }>('policy-engine/src/token/signature.ts');

/* Agreement of synchronous verification by Node and verification by WebCrypto. */

interface Pair {
  readonly algorithm: string;
  readonly key: CryptoKey;
  sign(algorithm: string, input: string): Buffer;
}

async function pair(algorithm: string, kind: 'rsa' | 'P-256' | 'P-384' | 'P-521', modulusLength = 2048): Promise<Pair> {
  const { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject } =
    kind === 'rsa' ? generateKeyPairSync('rsa', { modulusLength }) : generateKeyPairSync('ec', { namedCurve: kind });
  const key = await importJWK(publicKey.export({ format: 'jwk' }) as Parameters<typeof importJWK>[0], algorithm);
  return {
    algorithm,
    key: key as CryptoKey,
    sign: (named, input) =>
      sign(`sha${named.slice(2)}`, Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }),
  };
}

const pairs = [
  await pair('RS256', 'rsa'),
  await pair('RS384', 'rsa'),
  await pair('RS512', 'rsa'),
  await pair('ES256', 'P-256'),
  await pair('ES384', 'P-384'),
  await pair('ES512', 'P-521'),
];
const weak = await pair('RS256', 'rsa', 1024);
const other = await pair('ES256', 'P-256');

function signed({ sign: signWith }: Pair, algorithm: string, change?: (signature: Buffer) => Buffer): Signed {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const input = `${part({ alg: algorithm })}.${part({ sub: 'media.player' })}`;
  const right = signWith(algorithm, input);
  const signature = change?.(right) ?? right;
  return { text: `${input}.${signature.toString('base64url')}`, algorithm, signature };
}

function flipped(signature: Buffer): Buffer {
  const changed = Buffer.from(signature);
  changed[9] = (changed[9] ?? 0) ^ 1;
  return changed;
}

const changes: [note: string, change: (signature: Buffer) => Buffer][] = [
  ['a bit is changed', flipped],
  ['a byte is missing', (signature) => signature.subarray(1)],
  ['a byte is added in front', (signature) => Buffer.concat([Buffer.alloc(1), signature])],
  ['a byte is added behind', (signature) => Buffer.concat([signature, Buffer.alloc(1)])],
  ['it is empty', () => Buffer.alloc(0)],
  ['it is nothing but zeros', (signature) => Buffer.alloc(signature.length)],
];

for (const one of pairs) {
  const { algorithm, key } = one;
  test(`${algorithm}: what its key signed is accepted, and nothing else`, async (t) => {
    t.is(await checkNodeSignature(signed(one, algorithm), key), true);
    t.is(await checkWebSignature(signed(one, algorithm), key), true);
    for (const [note, change] of changes) {
      const changed = signed(one, algorithm, change);
      t.is(await checkNodeSignature(changed, key), false, note);
      t.is(await checkWebSignature(changed, key), false, note);
    }
  });

  test(`${algorithm}: a key is for one algorithm`, async (t) => {
    for (const named of ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'HS256', 'none']) {
      if (named === algorithm) continue;
      const text = signed(one, algorithm).text.replace(
        /^[^.]*/,
        Buffer.from(JSON.stringify({ alg: named })).toString('base64url'),
      );
      const { signature } = signed(one, algorithm);
      t.is(await checkNodeSignature({ text, algorithm: named, signature }, key), false, named);
    }
  });
}

test('a signature on a curve in DER is refused', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = (await importJWK(publicKey.export({ format: 'jwk' }), 'ES256')) as CryptoKey;
  const input = 'eyJhbGciOiJFUzI1NiJ9.e30';
  const signature = sign('sha256', Buffer.from(input), privateKey);
  const text = `${input}.${signature.toString('base64url')}`;
  t.is(await checkNodeSignature({ text, algorithm: 'ES256', signature }, key), false);
});

test('whatever the numbers of a signature begin with, zeros and high bits among them, it is accepted', async (t) => {
  const [, , , es256, , es512] = pairs;
  if (es256 === undefined || es512 === undefined) return t.fail();
  // Each signature differs: some of them begin with eight zeros.
  for (let made = 0; made < 1000; made += 1) {
    t.is(await checkNodeSignature(signed(es256, 'ES256'), es256.key), true);
  }
  for (let made = 0; made < 50; made += 1) {
    t.is(await checkNodeSignature(signed(es512, 'ES512'), es512.key), true);
  }
});

test('the key of somebody else, a weak one and one that may not verify are refused', async (t) => {
  const [, , , es256] = pairs;
  t.truthy(es256);
  if (es256 === undefined) return;
  t.is(await checkNodeSignature(signed(es256, 'ES256'), other.key), false);
  t.is(await checkNodeSignature(signed(weak, 'RS256'), weak.key), false);
  const { privateKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign']);
  t.is(await checkNodeSignature(signed(es256, 'ES256'), privateKey), false);
});
