import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  type BundleInput,
  buildBundle,
  PolicyEngineError,
  signBundle,
  staticKeys,
  type VerifyBundleOptions,
  verifyBundle,
} from '@signet/policy-engine/bundle';
import { parseDomainName } from '@signet/policy-engine/names';
import type { Jwk, KeyPurpose } from '@signet/policy-engine/wire';
import test from 'ava';
import { flattenedVerify } from 'jose';

const now = 1_767_225_600_000;
const domain = parseDomainName('catalog');

function keyPair(kid: string, purpose?: KeyPurpose, crv = 'P-256'): { kid: string; privateKey: KeyObject; jwk: Jwk } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const jwk: Jwk = { kty: 'EC', kid, alg: 'ES256', use: 'sig', crv, x, y, ...(purpose !== undefined && { purpose }) };
  return { kid, privateKey, jwk };
}
const key = keyPair('k1', 'bundle');
const tokenKey = keyPair('k2', 'token');
const keys = staticKeys({ keys: [key.jwk, tokenKey.jwk] });

const input: BundleInput = {
  domain: 'catalog',
  epoch: 1,
  version: 7,
  modified: now - 2000,
  issued: now - 1000,
  expires: now + 1000,
  policies: [
    {
      name: 'catalog:policy.readers',
      modified: '2026-01-01T00:00:00.000Z',
      version: '0',
      active: true,
      assertions: [
        { id: 1, role: 'catalog:role.reader', resource: 'catalog:mo"v\\i&e', action: 'read', effect: 'ALLOW' },
      ],
    },
  ],
};

const good = await signBundle(buildBundle(input), key);
const otherGood = await signBundle(buildBundle({ ...input, version: 8 }), key);

async function codeOf(bytes: Uint8Array | string, options: Partial<VerifyBundleOptions> = {}): Promise<string> {
  try {
    await verifyBundle(bytes, { domain, keys, now, ...options });
    return 'good';
  } catch (error) {
    return error instanceof PolicyEngineError ? error.code : `not ours: ${error}`;
  }
}

/** A JWS over any payload and header text, signed correctly. */
function signed(payload: string | Uint8Array, header = '{"kid":"k1","alg":"ES256"}', by = key.privateKey): string {
  const text = `${Buffer.from(header).toString('base64url')}.${Buffer.from(payload).toString('base64url')}`;
  const signature = sign('sha256', Buffer.from(text), { key: by, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  const [protectedHeader, body] = text.split('.');
  return JSON.stringify({ payload: body, protected: protectedHeader, header: { kid: 'k1' }, signature });
}

test('what was signed is read back', async (t) => {
  const jws = await signBundle(buildBundle(input), key);
  t.is(Buffer.from(jws.protected, 'base64url').toString(), '{"kid":"k1","alg":"ES256"}');
  t.deepEqual(await verifyBundle(JSON.stringify(jws), { domain, keys, now }), { ...input, domain, kid: 'k1' });
});

test('other readers of the standard verify it too', async (t) => {
  const { header: _, ...jws } = await signBundle(buildBundle(input), key);
  const verified = await flattenedVerify(jws, key.jwk, { algorithms: ['ES256'] });
  t.deepEqual(JSON.parse(new TextDecoder().decode(verified.payload)), buildBundle(input));
});

test('the DER form is made when asked for and not accepted here', async (t) => {
  for (let round = 0; round < 20; round += 1) {
    const jws = await signBundle(buildBundle(input), key, 'der');
    const signature = Buffer.from(jws.signature, 'base64url');
    t.is(signature[1], signature.length - 2);
    t.is(await codeOf(JSON.stringify(jws)), 'bundle-signature');
  }
});

test('a key with the other name of its curve, and short coordinates, works', async (t) => {
  const other = keyPair('k1', undefined, 'prime256v1');
  const odd = {
    ...other.jwk,
    x: Buffer.concat([Buffer.of(0), Buffer.from(other.jwk.x ?? '', 'base64url')]).toString('base64url'),
  };
  const jws = JSON.stringify(await signBundle(buildBundle(input), other));
  t.is(await codeOf(jws, { keys: staticKeys({ keys: [odd] }) }), 'good');
});

const flip = (text: string): string => (text.startsWith('A') ? `B${text.slice(1)}` : `A${text.slice(1)}`);
const tampered: [note: string, jws: Record<string, unknown>, code: string][] = [
  ['a flipped bit in the payload', { ...good, payload: flip(good.payload) }, 'bundle-signature'],
  ['the signature of another bundle', { ...good, signature: otherGood.signature }, 'bundle-signature'],
  ['no signature', { ...good, signature: undefined }, 'bundle-malformed'],
  ['an empty signature', { ...good, signature: '' }, 'bundle-signature'],
  ['a signature of zeros', { ...good, signature: 'A'.repeat(86) }, 'bundle-signature'],
  ['a list of signatures', { ...good, signatures: [] }, 'bundle-malformed'],
  ['another kid outside', { ...good, header: { kid: 'k2' } }, 'bundle-malformed'],
  ['padding', { ...good, payload: `${good.payload}=` }, 'bundle-signature'],
  ['nothing outside but what is signed', { ...good, header: { kid: 'k1', version: 99 }, expires: 'never' }, 'good'],
];
for (const [note, jws, code] of tampered) {
  test(`tampered: ${note}`, async (t) => t.is(await codeOf(JSON.stringify(jws)), code));
}

const payload = buildBundle(input);
const headers: [note: string, header: string, code: string][] = [
  ['the usual one', '{"kid":"k1","alg":"ES256"}', 'good'],
  ['an unknown key', '{"kid":"k9","alg":"ES256"}', 'bundle-malformed'],
  ['no kid', '{"alg":"ES256"}', 'bundle-malformed'],
  ['alg none', '{"kid":"k1","alg":"none"}', 'bundle-signature'],
  ['HS256', '{"kid":"k1","alg":"HS256"}', 'bundle-signature'],
  ['RS256 with an EC key', '{"kid":"k1","alg":"RS256"}', 'bundle-signature'],
  ['a kid twice', '{"kid":"k2","kid":"k1","alg":"ES256"}', 'bundle-malformed'],
  ['crit', '{"kid":"k1","alg":"ES256","crit":["b64"],"b64":false}', 'bundle-malformed'],
  ['its own key', '{"kid":"k1","alg":"ES256","jwk":{}}', 'bundle-malformed'],
];
for (const [note, header, code] of headers) {
  test(`protected header: ${note}`, async (t) => t.is(await codeOf(signed(JSON.stringify(payload), header)), code));
}

test('keys: unknown ones, those for tokens and failing sources are told apart', async (t) => {
  const byToken = await signBundle(payload, tokenKey);
  t.is(await codeOf(JSON.stringify(byToken)), 'bundle-key-unknown');
  t.is(await codeOf(JSON.stringify(good), { keys: staticKeys({ keys: [] }) }), 'bundle-key-unknown');
  const failing = { find: () => Promise.reject(new Error('out of order')) };
  t.is(await codeOf(JSON.stringify(good), { keys: failing }), 'keys-unavailable');
});

const { policyData } = payload;
const [policy] = policyData.policies;
const assertion = policy?.assertions[0];
const withAssertion = (change: object): object => ({
  ...payload,
  policyData: { ...policyData, policies: [{ ...policy, assertions: [{ ...assertion, ...change }] }] },
});
const payloads: [note: string, payload: object, code: string][] = [
  ['unknown members are ignored', { ...payload, later: 1, zmsKeyId: '' }, 'good'],
  ['another domain', { ...payload, policyData: { ...policyData, domain: 'media' } }, 'bundle-domain'],
  ['the domain in capitals', { ...payload, policyData: { ...policyData, domain: 'Catalog' } }, 'bundle-domain'],
  ['no policies', { ...payload, policyData: { domain: 'catalog' } }, 'bundle-malformed'],
  ['no expiry', { ...payload, expires: undefined }, 'bundle-malformed'],
  ['an expiry without a zone', { ...payload, expires: '2030-01-01T00:00:00' }, 'bundle-malformed'],
  ['an expiry before the issue', { ...payload, issued: payload.expires }, 'bundle-malformed'],
  ['a fraction for a version', { ...payload, version: 7.5 }, 'bundle-malformed'],
  ['a negative version', { ...payload, version: -1 }, 'bundle-malformed'],
  ['a version beyond exact numbers', { ...payload, version: 2 ** 53 }, 'bundle-malformed'],
  ['no epoch', { ...payload, epoch: undefined }, 'bundle-malformed'],
  ['an effect in lower case', withAssertion({ effect: 'deny' }), 'bundle-malformed'],
  ['an effect that is null', withAssertion({ effect: null }), 'bundle-malformed'],
  ['a role that is a list', withAssertion({ role: ['a'] }), 'bundle-malformed'],
  ['no action', withAssertion({ action: undefined }), 'bundle-malformed'],
  ['conditions that are a text', withAssertion({ conditions: 'x' }), 'bundle-malformed'],
  ['a list in place of the payload', [payload], 'bundle-malformed'],
];
for (const [note, body, code] of payloads) {
  test(`payload: ${note}`, async (t) => t.is(await codeOf(signed(JSON.stringify(body))), code));
}

test('payload: two effects in one assertion are refused, however they are written', async (t) => {
  const text = JSON.stringify(payload);
  for (const second of ['"effect":"DENY"', '"\\u0065ffect":"DENY"']) {
    t.is(await codeOf(signed(text.replace('"effect":"ALLOW"', `"effect":"ALLOW",${second}`))), 'bundle-malformed');
  }
  t.is(await codeOf(signed(`\ufeff${text}`)), 'bundle-malformed');
  t.is(await codeOf(signed(Buffer.from([0xff, 0xfe]))), 'bundle-malformed');
});

test('payload: text that looks like members stays text', async (t) => {
  const resource = 'catalog:x","effect":"DENY';
  const bytes = signed(JSON.stringify(withAssertion({ resource })));
  const bundle = await verifyBundle(bytes, { domain, keys, now });
  t.deepEqual(bundle.policies[0]?.assertions, [{ ...assertion, resource }]);
});

const clocks: [note: string, options: Partial<VerifyBundleOptions>, code: string][] = [
  ['one millisecond before the expiry', { now: now + 999 }, 'good'],
  ['at the expiry', { now: now + 1000 }, 'bundle-expired'],
  ['at the expiry, for who looks at it himself', { now: now + 1000, acceptExpired: true }, 'good'],
  ['a clock that is five minutes late', { now: now - 301_000 }, 'good'],
  ['a clock that is a year late', { now: now - 31_536_000_000 }, 'bundle-not-yet-valid'],
  ['the same version again', { floor: { epoch: 1, version: 7 } }, 'good'],
  ['an older version', { floor: { epoch: 1, version: 8 } }, 'bundle-rollback'],
  ['a lower version of a higher epoch', { floor: { epoch: 0, version: 900 } }, 'good'],
  ['a lower epoch', { floor: { epoch: 2, version: 0 } }, 'bundle-rollback'],
];
for (const [note, options, code] of clocks) {
  test(`time and version: ${note}`, async (t) => t.is(await codeOf(JSON.stringify(good), options), code));
}

test('bytes: every truncation is refused, and none is an error of ours', async (t) => {
  const bytes = new TextEncoder().encode(JSON.stringify(good));
  for (let length = 0; length < bytes.length; length += 7) {
    t.is(await codeOf(bytes.subarray(0, length)), 'bundle-malformed');
  }
  t.is(await codeOf(new Uint8Array(33_554_433)), 'bundle-malformed');
});

test('a large bundle lets others run', async (t) => {
  const assertions = Array.from({ length: 20_000 }, (_, id) => ({
    id,
    role: `catalog:role.r${id % 100}`,
    resource: `catalog:item.${id}`,
    action: 'read',
  }));
  const policies = [{ name: 'catalog:policy.p', modified: '', assertions }];
  const bytes = JSON.stringify(await signBundle(buildBundle({ ...input, policies }), key));
  let pauses = 0;
  const pause = async (): Promise<void> => {
    pauses += 1;
  };
  const bundle = await verifyBundle(bytes, { domain, keys, now, pause });
  t.is(bundle.policies[0]?.assertions.length, 20_000);
  t.true(pauses > 100);
});

test('a signing key that is none is refused', async (t) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await t.throwsAsync(signBundle(payload, { kid: 'k', privateKey }), {
    instanceOf: PolicyEngineError,
    code: 'invalid-options',
  });
});

const keySets: [note: string, list: unknown][] = [
  ['no list', {}],
  ['two keys of one name', { keys: [key.jwk, { ...tokenKey.jwk, kid: 'k1' }] }],
  ['a private key', { keys: [{ ...key.jwk, d: 'AA' }] }],
  ['a secret', { keys: [{ kty: 'oct', kid: 's', k: 'AA' }] }],
  ['a key without a name', { keys: [{ ...key.jwk, kid: undefined }] }],
];
for (const [note, list] of keySets) {
  test(`key set: ${note}`, (t) => {
    const error = t.throws(() => Reflect.apply(staticKeys, undefined, [list]), { instanceOf: PolicyEngineError });
    t.is(error?.code, 'keys-malformed');
  });
}

test('key set: keys of other kinds are left out, a point off the curve is nobody’s key', async (t) => {
  const list = {
    keys: [
      { kty: 'OKP', kid: 'ed', crv: 'Ed25519', x: 'AA' },
      { ...key.jwk, kid: 'enc', use: 'enc' },
      { ...key.jwk, kid: 'off', y: key.jwk.x },
    ],
  };
  const source = Reflect.apply(staticKeys, undefined, [list]);
  for (const kid of ['ed', 'enc', 'off', 'none']) t.is(await source.find(kid, 'bundle'), undefined);
});

test('a signed choice of policy versions is never taken for what is in force', async (t) => {
  const preview = await signBundle({ ...buildBundle(input), policyVersions: { readers: '1' } }, key);
  t.is(await codeOf(JSON.stringify(preview)), 'bundle-malformed');
});
