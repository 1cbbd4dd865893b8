import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { buildBundle, PolicyEngineError, signBundle, staticKeys, verifyBundle } from '@signet/policy-engine/bundle';
import { parseDomainName } from '@signet/policy-engine/names';
import test from 'ava';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
const keys = staticKeys({
  keys: [{ kty: 'EC', kid: 'k', alg: 'ES256', use: 'sig', crv: 'P-256', x, y, purpose: 'bundle' }],
});
const now = 1_767_225_600_000;
const base64url = (text: string) => Buffer.from(text).toString('base64url');
const policy = { name: 'd:policy.p', modified: '2026-01-01T00:00:00.000Z', assertions: [] };
const data = buildBundle({
  domain: 'd',
  epoch: 0,
  version: 1,
  modified: now,
  issued: now,
  expires: now + 1000,
  policies: [policy],
});
const good = await signBundle(data, { kid: 'k', privateKey });

async function codeOf(jws: unknown): Promise<string> {
  try {
    await verifyBundle(JSON.stringify(jws), { domain: parseDomainName('d'), keys, now });
    return 'good';
  } catch (error) {
    return error instanceof PolicyEngineError ? error.code : String(error);
  }
}

/** The good bundle with another protected header, signed with it. */
function withHeader(header: string): unknown {
  const protectedHeader = base64url(header);
  const text = Buffer.from(`${protectedHeader}.${good.payload}`);
  const signature = sign('sha256', text, { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  return { ...good, header: undefined, protected: protectedHeader, signature };
}

const usual = '"kid":"k","alg":"ES256"';
const forms: [note: string, jws: unknown, code: string][] = [
  ['the good one', good, 'good'],
  ['null', null, 'bundle-malformed'],
  ['a list', [good], 'bundle-malformed'],
  ['a number', 7, 'bundle-malformed'],
  ['a string', 'x', 'bundle-malformed'],
  ['a payload that is a number', { ...good, payload: 7 }, 'bundle-malformed'],
  ['no payload', { ...good, payload: undefined }, 'bundle-malformed'],
  ['a protected header that is a number', { ...good, protected: 7 }, 'bundle-malformed'],
  ['no protected header', { ...good, protected: undefined }, 'bundle-malformed'],
  ['a signature that is a number', { ...good, signature: 7 }, 'bundle-malformed'],
  ['no signature', { ...good, signature: undefined }, 'bundle-malformed'],
  ['an empty signature', { ...good, signature: '' }, 'bundle-signature'],
  ['several signatures beside', { ...good, signatures: [] }, 'bundle-malformed'],
  ['no outer header', { ...good, header: undefined }, 'good'],
  ['an outer header without a kid', { ...good, header: {} }, 'good'],
  ['an outer header of another key', { ...good, header: { kid: 'other' } }, 'bundle-malformed'],
  ['an outer header that is a list', { ...good, header: [] }, 'bundle-malformed'],
  ['an outer header that is a string', { ...good, header: 'kid' }, 'bundle-malformed'],
  ['an outer header that is a number', { ...good, header: 7 }, 'bundle-malformed'],
  ['an outer header that is null', { ...good, header: null }, 'bundle-malformed'],
  ['a header in another order', withHeader('{"alg":"ES256","kid":"k"}'), 'good'],
  ['a header with a type', withHeader(`{${usual},"typ":"JOSE+JSON"}`), 'good'],
  ['a header with a member that is not known', withHeader(`{${usual},"b64":false}`), 'bundle-malformed'],
  ['a header with what is critical', withHeader(`{${usual},"crit":["x"]}`), 'bundle-malformed'],
  ['a header that is a list', withHeader('["kid"]'), 'bundle-malformed'],
  ['a header that is a number', withHeader('7'), 'bundle-malformed'],
  ['a header that is a string', withHeader('"kid"'), 'bundle-malformed'],
  ['a header that is null', withHeader('null'), 'bundle-malformed'],
  ['a header of 1,024 characters', withHeader(`{${usual}}`.padEnd(768)), 'good'],
  ['a header of more', withHeader(`{${usual}}`.padEnd(769)), 'bundle-malformed'],
  ['another algorithm', withHeader('{"kid":"k","alg":"ES384"}'), 'bundle-signature'],
  ['no algorithm', withHeader('{"kid":"k"}'), 'bundle-signature'],
  ['no key', withHeader('{"alg":"ES256"}'), 'bundle-malformed'],
  ['an empty key', withHeader('{"alg":"ES256","kid":""}'), 'bundle-malformed'],
  ['a key that is a number', withHeader('{"alg":"ES256","kid":7}'), 'bundle-malformed'],
];
for (const [note, jws, code] of forms) test(`a bundle with ${note}`, async (t) => t.is(await codeOf(jws), code));

test('signatures in DER are those that OpenSSL reads', async (t) => {
  // Half of all numbers begin with a bit that DER would take for a sign; one of 256 with a zero byte, which it leaves out.
  const lengths = new Set<number>();
  for (let round = 0; round < 3000 && !(round >= 40 && [...lengths].some((length) => length < 70)); round += 1) {
    const jws = await signBundle(data, { kid: 'k', privateKey }, 'der');
    const signature = Buffer.from(jws.signature, 'base64url');
    lengths.add(signature.length);
    t.true(verify('sha256', Buffer.from(`${jws.protected}.${jws.payload}`), publicKey, signature));
  }
  t.true(lengths.has(72) && lengths.has(71) && lengths.has(70), [...lengths].join());
});
