import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { Status } from '@signet/policy-engine';
import { createTestAuthority, type TestAuthority, type TestTokenInput } from '@signet/policy-engine/testing';
import test from 'ava';

const domains = {
  catalog: [{ name: 'catalog:policy.p', assertions: [{ role: 'reader', action: 'read', resource: 'catalog:movie' }] }],
};
const authority = await createTestAuthority();
const certificate = authority.certificate('media.player');
const usual: TestTokenInput = { domain: 'catalog', roles: ['reader'], certificate };

async function statusOf(token: string, options: { legacyTypes?: boolean } = {}): Promise<Status> {
  const engine = authority.engine(domains, options);
  return (await engine.decide({ token, action: 'read', resource: 'catalog:movie', certificate })).status;
}

const now = Math.floor(authority.clock.now() / 1000);
const claimCases: [note: string, input: Partial<TestTokenInput>, status: Status][] = [
  ['a good token', {}, 'ALLOW'],
  ['typ with its prefix and in capitals', { header: { typ: 'application/AT+JWT' } }, 'ALLOW'],
  ['typ JWT', { header: { typ: 'JWT' } }, 'DENY_TOKEN_INVALID'],
  ['no typ', { header: { typ: undefined } }, 'DENY_TOKEN_INVALID'],
  ['no kid', { header: { kid: undefined } }, 'DENY_TOKEN_INVALID'],
  ['an unknown kid', { header: { kid: 'other' } }, 'DENY_TOKEN_INVALID'],
  ['the kid of the key for bundles', { header: { kid: authority.keys.keys[1]?.kid } }, 'DENY_TOKEN_INVALID'],
  ['a key in the header', { header: { jwk: authority.keys.keys[0] } }, 'DENY_TOKEN_INVALID'],
  ['a key address in the header', { header: { jku: 'https://127.0.0.1/keys' } }, 'DENY_TOKEN_INVALID'],
  ['a certificate in the header', { header: { x5c: ['MA=='] } }, 'DENY_TOKEN_INVALID'],
  ['a certificate address in the header', { header: { x5u: 'https://127.0.0.1/' } }, 'DENY_TOKEN_INVALID'],
  ['compression', { header: { zip: 'DEF' } }, 'DENY_TOKEN_INVALID'],
  ['no exp', { claims: { exp: undefined } }, 'DENY_TOKEN_INVALID'],
  ['a text for exp', { claims: { exp: `${now + 60}` } }, 'DENY_TOKEN_INVALID'],
  ['an endless exp', { claims: { exp: 1e308 } }, 'DENY_TOKEN_INVALID'],
  ['exp now', { expiresInSeconds: 0 }, 'DENY_TOKEN_EXPIRED'],
  ['exp in one second', { expiresInSeconds: 1 }, 'ALLOW'],
  ['exp a year ago', { expiresInSeconds: -31_536_000 }, 'DENY_TOKEN_EXPIRED'],
  ['nbf within the allowance', { claims: { nbf: now + 60 } }, 'ALLOW'],
  ['nbf beyond the allowance', { claims: { nbf: now + 61 } }, 'DENY_TOKEN_INVALID'],
  ['iat ten minutes ahead', { claims: { iat: now + 600 } }, 'DENY_TOKEN_INVALID'],
  ['a text for iat', { claims: { iat: 'now' } }, 'DENY_TOKEN_INVALID'],
  ['another issuer', { claims: { iss: 'https://other.test/v1' } }, 'DENY_TOKEN_INVALID'],
  ['the issuer with a slash behind', { claims: { iss: `${authority.issuer}/` } }, 'DENY_TOKEN_INVALID'],
  ['the issuer in capitals', { claims: { iss: authority.issuer.toUpperCase() } }, 'DENY_TOKEN_INVALID'],
  ['no issuer', { claims: { iss: undefined } }, 'DENY_TOKEN_INVALID'],
  ['no audience', { claims: { aud: undefined } }, 'DENY_TOKEN_INVALID'],
  ['an empty audience', { claims: { aud: '' } }, 'DENY_TOKEN_INVALID'],
  ['a list of one audience', { claims: { aud: ['catalog'] } }, 'ALLOW'],
  ['two audiences', { claims: { aud: ['catalog', 'media'] } }, 'DENY_TOKEN_INVALID'],
  ['another audience', { claims: { aud: 'media' } }, 'DENY_DOMAIN_MISMATCH'],
  ['no subject', { claims: { sub: undefined } }, 'DENY_TOKEN_INVALID'],
  ['scp as text', { claims: { scp: 'reader' } }, 'DENY_TOKEN_INVALID'],
  ['scp as a number', { claims: { scp: 7 } }, 'DENY_TOKEN_INVALID'],
  ['nested scp', { claims: { scp: [['reader']] } }, 'DENY_TOKEN_INVALID'],
  ['empty scp', { claims: { scp: [] } }, 'DENY_TOKEN_INVALID'],
  ['no scp', { claims: { scp: undefined } }, 'DENY_TOKEN_INVALID'],
  ['1,500 roles', { roles: Array.from({ length: 1500 }, (_, i) => `${i}`) }, 'DENY_TOKEN_INVALID'],
  ['a star as a role', { roles: ['*'] }, 'DENY_NO_MATCH'],
  ['a pattern as a role', { roles: ['role.*', 'read*'] }, 'DENY_NO_MATCH'],
  ['__proto__ as a role', { roles: ['__proto__'] }, 'DENY_NO_MATCH'],
  ['an empty cnf', { claims: { cnf: {} } }, 'DENY_TOKEN_INVALID'],
  ['a text for cnf', { claims: { cnf: 'x' } }, 'DENY_TOKEN_INVALID'],
  ['null for cnf', { claims: { cnf: null } }, 'DENY_TOKEN_INVALID'],
  ['two confirmations', { claims: { cnf: { 'x5t#S256': certificate.thumbprint, jkt: 'x' } } }, 'DENY_TOKEN_INVALID'],
  ['a padded thumbprint', { claims: { cnf: { 'x5t#S256': `${certificate.thumbprint}=` } } }, 'DENY_TOKEN_INVALID'],
  ['a thumbprint in hexadecimal', { claims: { cnf: { 'x5t#S256': 'ab'.repeat(32) } } }, 'DENY_TOKEN_INVALID'],
  ['a token of 1 MB', { claims: { filler: 'x'.repeat(1_000_000) } }, 'DENY_TOKEN_INVALID'],
];
for (const [note, input, status] of claimCases) {
  test(`token: ${note}`, async (t) => t.is(await statusOf(await authority.token({ ...usual, ...input })), status));
}

test('older types are accepted when asked for, an ID token is still none', async (t) => {
  const legacyTypes = true;
  t.is(await statusOf(await authority.token({ ...usual, header: { typ: 'JWT' } }), { legacyTypes }), 'ALLOW');
  t.is(await statusOf(await authority.token({ ...usual, header: { typ: undefined } }), { legacyTypes }), 'ALLOW');
  const idToken = await authority.token({
    ...usual,
    header: { typ: 'JWT' },
    claims: { aud: 'catalog.api', scp: undefined },
  });
  t.is(await statusOf(idToken, { legacyTypes }), 'DENY_TOKEN_INVALID');
});

function base64url(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
}

/** The good token with another header, its parts put together by `finish`. */
async function forged(
  header: Record<string, unknown>,
  finish: (signed: string) => Buffer,
  from: TestAuthority = authority,
): Promise<string> {
  const [, payload = ''] = (await from.token(usual)).split('.');
  const kid = from.keys.keys[0]?.kid;
  const signed = `${base64url({ kid, typ: 'at+jwt', ...header })}.${payload}`;
  return `${signed}.${finish(signed).toString('base64url')}`;
}

const publicPem = 'the public key as everybody knows it';
const forgeries: [note: string, make: () => Promise<string>][] = [
  ['alg none', () => forged({ alg: 'none' }, () => Buffer.alloc(0))],
  ['alg nOnE', () => forged({ alg: 'nOnE' }, () => Buffer.alloc(0))],
  ['alg ES256 without a signature', () => forged({ alg: 'ES256' }, () => Buffer.alloc(0))],
  [
    'HS256 with public text as its secret',
    () => forged({ alg: 'HS256' }, (text) => createHmac('sha256', publicPem).update(text).digest()),
  ],
  ['r and s zero', () => forged({ alg: 'ES256' }, () => Buffer.alloc(64))],
  ['a random signature', () => forged({ alg: 'ES256' }, () => randomBytes(64))],
  ['crit', () => forged({ alg: 'ES256', crit: ['x'], x: 1 }, () => randomBytes(64))],
  ['b64 false', () => forged({ alg: 'ES256', crit: ['b64'], b64: false }, () => randomBytes(64))],
  [
    'signed by a key of one’s own under the known kid',
    () => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      return forged({ alg: 'ES256' }, (text) =>
        sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }),
      );
    },
  ],
  [
    'RS256 under the kid of an EC key',
    () => {
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      return forged({ alg: 'RS256' }, (text) => sign('sha256', Buffer.from(text), privateKey));
    },
  ],
  ['two parts', async () => (await authority.token(usual)).split('.').slice(0, 2).join('.')],
  ['four parts', async () => `${await authority.token(usual)}.x`],
  ['five parts', async () => 'a.b.c.d.e'],
  ['JSON form', async () => JSON.stringify({ payload: 'e30', protected: 'e30', signature: 'AA' })],
  ['empty', async () => ''],
  ['the scheme word alone', async () => 'Bearer '],
  ['a changed last character of the signature', async () => changedLast(await authority.token(usual))],
  ['a line end inside', async () => (await authority.token(usual)).replace('.', '\n.')],
];
for (const [note, make] of forgeries) {
  test(`forged: ${note}`, async (t) => t.is(await statusOf(await make()), 'DENY_TOKEN_INVALID'));
}

/** Another text for the same bytes: the last character of 64 bytes carries four bits that are thrown away. */
function changedLast(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return token.slice(0, -1) + alphabet.charAt(alphabet.indexOf(token.slice(-1)) ^ 1);
}

test('a signature in DER form is refused', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const keys = { keys: [{ kty: 'EC', kid: 'k', alg: 'ES256', use: 'sig', crv: 'P-256', x, y } as const] };
  const [, payload = ''] = (await authority.token(usual)).split('.');
  const signed = `${base64url({ alg: 'ES256', kid: 'k', typ: 'at+jwt' })}.${payload}`;
  const engine = authority.engine(domains, { keys });
  const status = async (dsaEncoding: 'der' | 'ieee-p1363'): Promise<Status> => {
    const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding }).toString('base64url');
    return (
      await engine.decide({ token: `${signed}.${signature}`, action: 'read', resource: 'catalog:movie', certificate })
    ).status;
  };
  t.is(await status('der'), 'DENY_TOKEN_INVALID');
  t.is(await status('ieee-p1363'), 'ALLOW');
});

test('a weak RSA key verifies nothing', async (t) => {
  for (const [modulusLength, status] of [
    [1024, 'DENY_TOKEN_INVALID'],
    [2048, 'ALLOW'],
  ] as const) {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
    const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
    const keys = { keys: [{ kty: 'RSA', kid: 'k', alg: 'RS256', use: 'sig', n, e } as const] };
    const [, payload = ''] = (await authority.token(usual)).split('.');
    const signed = `${base64url({ alg: 'RS256', kid: 'k', typ: 'at+jwt' })}.${payload}`;
    const token = `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
    const engine = authority.engine(domains, { keys });
    t.is((await engine.decide({ token, action: 'read', resource: 'catalog:movie', certificate })).status, status);
  }
});

test('the word Bearer is taken off in any case', async (t) => {
  const token = await authority.token(usual);
  for (const value of [`Bearer ${token}`, `bearer ${token}`, `BEARER  ${token}`]) t.is(await statusOf(value), 'ALLOW');
});

test('duplicate members are refused, also when the signature is good', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const keys = { keys: [{ kty: 'EC', kid: 'k', alg: 'ES256', use: 'sig', crv: 'P-256', x, y } as const] };
  const payload = `{"iss":"${authority.issuer}","aud":"media","aud":"catalog","sub":"a","exp":${now + 60},"scp":["reader"],"cnf":{"x5t#S256":"${certificate.thumbprint}"}}`;
  const signed = `${base64url({ alg: 'ES256', kid: 'k', typ: 'at+jwt' })}.${base64url(payload)}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  const engine = authority.engine(domains, { keys });
  const token = `${signed}.${signature.toString('base64url')}`;
  t.is(
    (await engine.decide({ token, action: 'read', resource: 'catalog:movie', certificate })).status,
    'DENY_TOKEN_INVALID',
  );
});
