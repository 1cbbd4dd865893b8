import { buildBundle, PolicyEngineError, signBundle, verifyBundle } from '@signet/policy-engine/bundle';
import { parseDomainName } from '@signet/policy-engine/names';
import test from 'ava';

/* Keys that a source of one's own may hand over: what cannot make an ES256 signature verifies none, and nothing else goes wrong. */

const now = 1_767_225_600_000;
const times = { modified: now, issued: now, expires: now + 1000 };
const data = buildBundle({ domain: 'd', epoch: 0, version: 1, ...times, policies: [] });
const { publicKey, privateKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
  'sign',
  'verify',
]);
const bundle = JSON.stringify(await signBundle(data, { kid: 'k', privateKey }));

async function codeOf(text: string, key: unknown): Promise<string> {
  try {
    await verifyBundle(text, { domain: parseDomainName('d'), now, keys: { find: async () => key as never } });
    return 'good';
  } catch (error) {
    return error instanceof PolicyEngineError ? error.code : String(error);
  }
}

const raw = await crypto.subtle.exportKey('raw', publicKey);
const ofAnother = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-384' }, true, ['verify', 'sign']);
const modulusLength = 2048;
const rsa = { name: 'RSASSA-PKCS1-v1_5', modulusLength, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' };
const keys: [note: string, key: unknown, code: string][] = [
  ['the key itself', publicKey, 'good'],
  [
    'the same point for another use',
    await crypto.subtle.importKey('raw', raw, { name: 'ECDH', namedCurve: 'P-256' }, true, []),
    'bundle-signature',
  ],
  ['a key of another curve', ofAnother.publicKey, 'bundle-signature'],
  ['an RSA key', (await crypto.subtle.generateKey(rsa, true, ['sign', 'verify'])).publicKey, 'bundle-signature'],
];
for (const [note, key, code] of keys) {
  test(`a bundle and ${note}`, async (t) => t.is(await codeOf(bundle, key), code));
}

test('a signature of another length is refused before it is looked at', async (t) => {
  const { signature, ...rest } = JSON.parse(bundle);
  const bytes = Buffer.from(signature, 'base64url');
  for (const changed of [bytes.subarray(1), Buffer.concat([bytes, Buffer.alloc(1)])]) {
    const text = JSON.stringify({ ...rest, signature: changed.toString('base64url') });
    t.is(await codeOf(text, publicKey), 'bundle-signature');
  }
  t.is(await codeOf(JSON.stringify({ ...rest, signature: 'a+b/' }), publicKey), 'bundle-signature');
});

test('a text with half a surrogate pair is refused as a text', async (t) => {
  const error = await t.throwsAsync(
    verifyBundle(`${bundle.slice(0, -1)},"a":"\ud83d"}`, {
      domain: parseDomainName('d'),
      now,
      keys: { find: async () => publicKey },
    }),
  );
  t.is(error.message, 'bundle is malformed: it is not well-formed text');
});
