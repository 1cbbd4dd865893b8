import { generateKeyPairSync } from 'node:crypto';
import { staticKeys } from '@signet/policy-engine';
import { createTestAuthority, type TestTokenInput } from '@signet/policy-engine/testing';
import { verifyAccessToken } from '@signet/policy-engine/token';
import test from 'ava';
import { CompactSign } from 'jose';

/* Each rule by itself: what it refuses is told by its own fault, so that no other rule can stand in for it. */

const authority = await createTestAuthority();
const thumbprint = 'A'.repeat(43);
const nowMs = authority.clock.now();
const now = Math.floor(nowMs / 1000);
const options = { keys: staticKeys(authority.keys), issuers: [authority.issuer], audiences: new Set(['catalog']) };

async function outcomeOf(text: string, more: object = {}): Promise<string> {
  const outcome = await verifyAccessToken(text, { ...options, now: nowMs, ...more } as never);
  return outcome.kind === 'invalid' ? outcome.fault : outcome.kind;
}

const usual: TestTokenInput = { domain: 'catalog', roles: ['reader'] };
const faults: [note: string, input: Partial<TestTokenInput>, fault: string][] = [
  ['a good token', {}, 'valid'],
  ['no type', { header: { typ: undefined } }, 'type'],
  ['a type that is a number', { header: { typ: 7 } }, 'type'],
  ['the type of other tokens', { header: { typ: 'JWT' } }, 'type'],
  ['no kid', { header: { kid: undefined } }, 'unknown-key'],
  ['an empty kid', { header: { kid: '' } }, 'unknown-key'],
  ['the key for bundles', { header: { kid: authority.keys.keys[1]?.kid } }, 'unknown-key'],
  ['another issuer', { claims: { iss: 'https://other.test/v1' } }, 'issuer'],
  ['an issuer that is a list', { claims: { iss: [authority.issuer] } }, 'issuer'],
  ['another audience', { claims: { aud: 'media' } }, 'audience'],
  ['two audiences', { claims: { aud: ['catalog', 'media'] } }, 'audience'],
  ['an empty audience', { claims: { aud: '' } }, 'audience'],
  ['no subject', { claims: { sub: undefined } }, 'claims'],
  ['an empty subject', { claims: { sub: '' } }, 'claims'],
  ['no end', { claims: { exp: undefined } }, 'claims'],
  ['an end before all time', { claims: { exp: -1 } }, 'claims'],
  ['an id that is a number', { claims: { jti: 7 } }, 'claims'],
  ['no id', { claims: { jti: undefined } }, 'claims'],
  ['an empty id', { claims: { jti: '' } }, 'claims'],
  ['a client that is a number', { claims: { client_id: 7 } }, 'claims'],
  ['no client', { claims: { client_id: undefined } }, 'claims'],
  ['an empty client', { claims: { client_id: '' } }, 'claims'],
  ['a start at the end of the allowance', { claims: { nbf: now + 60 } }, 'valid'],
  ['a start past the allowance', { claims: { nbf: now + 61 } }, 'not-yet-valid'],
  ['a time of issue past the allowance', { claims: { iat: now + 61 } }, 'not-yet-valid'],
  ['a time of issue at the end of the allowance', { claims: { iat: now + 60 } }, 'valid'],
  ['a start that is a string', { claims: { nbf: 'now' } }, 'claims'],
  [
    'a start past the allowance and a time of issue that is a string',
    { claims: { nbf: now + 61, iat: 'x' } },
    'claims',
  ],
  ['no start', { claims: { nbf: undefined } }, 'valid'],
  ['no time of issue', { claims: { iat: undefined } }, 'claims'],
  ['no roles', { claims: { scp: [] } }, 'roles'],
  ['a role that is a number', { claims: { scp: ['reader', 7] } }, 'roles'],
  ['an empty role', { claims: { scp: ['reader', ''] } }, 'roles'],
  ['a confirmation by thumbprint', { claims: { cnf: { 'x5t#S256': thumbprint } } }, 'valid'],
  [
    'a confirmation by thumbprint, and proxies',
    { claims: { cnf: { 'x5t#S256': thumbprint, 'proxy-principals#spiffe': ['spiffe://a/b'] } } },
    'valid',
  ],
  ['proxies alone', { claims: { cnf: { 'proxy-principals#spiffe': ['spiffe://a/b'] } } }, 'confirmation'],
  ['a confirmation by something else', { claims: { cnf: { jkt: thumbprint } } }, 'confirmation'],
  ['a confirmation by two things', { claims: { cnf: { 'x5t#S256': thumbprint, jkt: thumbprint } } }, 'confirmation'],
  ['a confirmation that is empty', { claims: { cnf: {} } }, 'confirmation'],
  ['a confirmation that is null', { claims: { cnf: null } }, 'confirmation'],
  ['a confirmation that is a string', { claims: { cnf: 'x' } }, 'confirmation'],
  ['a thumbprint of 31 bytes', { claims: { cnf: { 'x5t#S256': 'A'.repeat(42) } } }, 'confirmation'],
  ['a thumbprint that is a number', { claims: { cnf: { 'x5t#S256': 7 } } }, 'confirmation'],
];
for (const [note, input, fault] of faults) {
  test(note, async (t) => {
    t.is(await outcomeOf(await authority.token({ ...usual, ...input })), fault);
  });
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url');
const header = JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: authority.keys.keys[0]?.kid });
const changed = (members: object) => base64url(JSON.stringify({ ...JSON.parse(header), ...members }));
const texts: [note: string, text: string, fault: string][] = [
  ['two parts', `${base64url(header)}.e30`, 'malformed'],
  ['four parts', `${base64url(header)}.e30.e30.e30`, 'malformed'],
  ['nothing but dots', '.'.repeat(16_384), 'malformed'],
  ['a header that is not base64url', `${base64url(header)}=.e30.e30`, 'malformed'],
  ['a payload that is not base64url', `${base64url(header)}.e30=.e30`, 'malformed'],
  ['a header that is a list', `${base64url('[]')}.e30.e30`, 'malformed'],
  ['a header that is null', `${base64url('null')}.e30.e30`, 'malformed'],
  ['a header that is a string', `${base64url('"x"')}.e30.e30`, 'malformed'],
  ['a header with a member twice', `${base64url(header.replace('{', '{"alg":"ES256",'))}.e30.e30`, 'malformed'],
  ['algorithm none', `${changed({ alg: 'none' })}.e30.e30`, 'algorithm'],
  ['an algorithm that is a number', `${changed({ alg: 7 })}.e30.e30`, 'algorithm'],
  ...['crit', 'b64', 'zip', 'jku', 'jwk', 'x5u', 'x5c'].map((member): [string, string, string] => [
    `${member} in the header`,
    `${changed({ [member]: null })}.e30.e30`,
    'malformed',
  ]),
  ['no signature', `${base64url(header)}.e30.`, 'signature'],
];
for (const [note, text, fault] of texts) {
  test(note, async (t) => t.is(await outcomeOf(text), fault));
}

test('a signed payload that is not an object', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  const keys = staticKeys({ keys: [{ kty, crv, x, y, kid: 'k', alg: 'ES256', use: 'sig' }] } as never);
  const sign = (payload: string) =>
    new CompactSign(Buffer.from(payload))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'k' })
      .sign(privateKey);
  t.is(await outcomeOf(await sign('{}'), { keys }), 'issuer');
  for (const payload of ['[]', 'null', '"x"', '7', '{"iss":1,"iss":2}', '\ufeff{}']) {
    t.is(await outcomeOf(await sign(payload), { keys }), 'malformed', payload);
  }
});

test('what is not a string, keys that cannot be had, and older types where they are taken', async (t) => {
  const token = await authority.token(usual);
  t.is(await outcomeOf(7 as never), 'not-text');
  const failing = { find: () => Promise.reject(new Error('away')) };
  t.is(await outcomeOf(token, { keys: failing }), 'keys-unavailable');
  const plain = await authority.token({ ...usual, header: { typ: 'JWT' } });
  t.is(await outcomeOf(plain, { legacyTypes: true }), 'valid');
  const untyped = await authority.token({ ...usual, header: { typ: undefined } });
  t.is(await outcomeOf(untyped, { legacyTypes: true }), 'valid');
  const other = await authority.token({ ...usual, header: { typ: 'logout+jwt' } });
  t.is(await outcomeOf(other, { legacyTypes: true }), 'type');
});
