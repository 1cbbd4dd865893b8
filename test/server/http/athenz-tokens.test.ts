import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock, toDate } from '@signet/policy-engine/clock';
import type { JwkList } from '@signet/policy-engine/wire';
import test, { type ExecutionContext } from 'ava';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { FakeClock } from '#support/clock';
import { type DomainSketch, domainContent } from '#support/domain-sketch';
import { field } from '#support/instance-world';
import { openssl } from '#support/openssl';
import { principalToken } from '#support/principal-token';
import { saveDomain } from '#support/save-domain';
import { type Answer, caller, form, startServer, wholeFile } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

/* The two tokens that only the profile `athenz` gives: role tokens, and ID tokens alone. */

const file = wholeFile();
const clock = new FakeClock(systemClock.now());
const now = Math.floor(clock.now() / 1000);
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = pair.publicKey.export({ format: 'pem', type: 'spki' }).toString();
const catalog = {
  name: 'catalog',
  services: { api: {}, off: false },
  roles: {
    reader: ['media.player'],
    editor: ['media.player', 'media.studio'],
    short: { members: ['media.player'], tokenExpirySeconds: 600 },
    admin: ['media.studio'],
  },
  groups: { devs: ['media.player'], ops: ['media.studio'] },
} as const satisfies DomainSketch;
const domains: readonly DomainSketch[] = [
  { name: 'media', services: { player: { 0: pem }, studio: {}, guest: {} }, groups: { crew: ['media.player'] } },
  { name: 'media.video', services: { web: {} } },
  { name: 'dark', enabled: false },
];
const athenz = await startServer(file, { clock, domains, options: { profile: 'athenz' } });
const [api] = domainContent(catalog).services;
if (api === undefined) throw new Error('no service');
await athenz.store.change({ actor: 'test' }, async (transaction) => {
  const services = [{ ...api, endpoint: 'https://films.example/login' }, ...domainContent(catalog).services.slice(1)];
  await saveDomain(transaction, { ...domainContent(catalog), services });
});
await athenz.running.refresh();
const signet = await startServer(file, { clock, domains: [...domains, catalog], pki: athenz.pki });
const silent = await startServer(file, {
  clock,
  domains: [...domains, catalog],
  pki: athenz.pki,
  options: { profile: 'athenz', 'tokens.idTokens': false },
});

const as = async (name: string) => caller(file, athenz, await athenz.pki.identity(name));
const [player, studio, guest, nobody] = [
  await as('media.player'),
  await as('media.studio'),
  await as('media.guest'),
  caller(file, athenz),
];
const roleHolder = caller(file, athenz, await athenz.pki.odd({ subject: 'CN=catalog:role.reader' }));

test.after.always(() => file.end());

/** The fields of a role token, in their order. */
function fieldsOf(answer: Answer): readonly (readonly [string, string])[] {
  if (answer.status !== 200) throw new Error(answer.text);
  return String(field(answer.body, 'token'))
    .split(';')
    .map((item) => [item.slice(0, item.indexOf('=')), item.slice(item.indexOf('=') + 1)]);
}

async function verifiedByOpenssl(t: ExecutionContext, answer: Answer): Promise<string> {
  const folder = temporaryFolder(t);
  const token = String(field(answer.body, 'token'));
  const [text = '', signature = ''] = token.split(';s=');
  const kid = new Map(fieldsOf(answer)).get('k');
  const key = await player(`/domain/sys.auth/service/zts/publickey/${kid}`);
  const plain = (text: string) =>
    Buffer.from(text.replaceAll('.', '+').replaceAll('_', '/').replaceAll('-', '='), 'base64');
  writeFileSync(join(folder, 'key.pem'), plain(String(field(key.body, 'key'))));
  writeFileSync(join(folder, 'signature'), plain(signature));
  writeFileSync(join(folder, 'text'), text);
  writeFileSync(join(folder, 'other'), `${text} `);
  const verify = async (name: string) =>
    (await openssl(folder, 'dgst', '-sha256', '-verify', 'key.pem', '-signature', 'signature', name)).output.trim();
  t.not(await verify('other'), 'Verified OK');
  return verify('text');
}

test('a role token has the fields of Athenz in its order, and openssl verifies it', async (t) => {
  const answer = await player('/domain/Catalog/token?role=Reader,editor&minExpiryTime=1800');
  const fields = fieldsOf(answer);
  t.deepEqual(fields.map(([name]) => name).join(''), 'vdrphateks');
  const { v, d, r, p, h, a = '', t: issued, e, k, s = '' } = Object.fromEntries(fields);
  t.deepEqual({ v, d, r, p, h }, { v: 'Z1', d: 'catalog', r: 'editor,reader', p: 'media.player', h: '127.0.0.1' });
  t.deepEqual([issued, e, field(answer.body, 'expiryTime')], [String(now), String(now + 1800), now + 1800]);
  t.regex(a, /^[0-9a-f]{16}$/);
  t.regex(s, /^[a-zA-Z0-9._]+-{0,2}$/);
  const { keys } = (await player('/oauth2/keys?rfc=true')).body as JwkList;
  t.is(keys.find(({ kid }) => kid === k)?.purpose, 'token');
  t.is(await verifiedByOpenssl(t, answer), 'Verified OK');
  t.is(answer.headers['cache-control'], 'no-store');
});

test('all roles that are held are marked so, and their limits hold', async (t) => {
  const all = Object.fromEntries(fieldsOf(await player('/domain/catalog/token')));
  t.deepEqual([all['r'], all['c'], all['e']], ['editor,reader,short', '1', String(now + 600)]);
  const { c, r } = Object.fromEntries(fieldsOf(await studio('/domain/catalog/token?role=reader,editor,admin,nothing')));
  t.deepEqual([c, r], [undefined, 'admin,editor']);
  t.not(all['a'], Object.fromEntries(fieldsOf(await player('/domain/catalog/token')))['a']);
});

for (const [query, life] of [
  ['', 7200],
  ['&maxExpiryTime=60&minExpiryTime=1800', 60],
  ['&maxExpiryTime=0&minExpiryTime=0', 7200],
  ['&minExpiryTime=99999999999999999999', 7200],
] as const) {
  test(`a role token lives as long as asked for, within the bounds: ${query}`, async (t) => {
    const answer = await player(`/domain/catalog/token?role=reader${query}`);
    t.is(field(answer.body, 'expiryTime'), now + life);
  });
}

for (const [note, call, path, status] of [
  ['no role held', guest, '/domain/catalog/token', 403],
  ['none of the roles', player, '/domain/catalog/token?role=admin', 403],
  ['a role that is none', player, '/domain/catalog/token?role=a%20b', 400],
  ['a list that ends early', player, '/domain/catalog/token?role=reader,', 400],
  ['a domain that is none', player, '/domain/a%20b/token', 400],
  ['an unknown domain', player, '/domain/nowhere/token', 404],
  ['a disabled domain', player, '/domain/dark/token', 404],
  ['another principal', player, '/domain/catalog/token?proxyForPrincipal=media.studio', 403],
  ['a life that is no number', player, '/domain/catalog/token?minExpiryTime=1h', 400],
  ['a role certificate', roleHolder, '/domain/catalog/token', 403],
  ['nobody', nobody, '/domain/catalog/token', 401],
] as const) {
  test(`a role token is refused: ${note}`, async (t) => {
    const answer = await call(path);
    t.is(answer.status, status, answer.text);
    t.is(field(answer.body, 'code'), status);
  });
}

test('at most 256 names of roles', async (t) => {
  const names = (count: number) => Array.from({ length: count }, () => 'reader').join();
  t.is((await player(`/domain/catalog/token?role=${names(256)}`)).status, 200);
  t.is((await player(`/domain/catalog/token?role=${names(257)}`)).status, 400);
});

test('a principal token alone is enough for both tokens, and a bad one is refused beside a certificate', async (t) => {
  const token = principalToken({ now: clock.now(), key: pair.privateKey });
  const auth = '/oauth2/auth?response_type=id_token&client_id=catalog.api&scope=openid&nonce=n&output=json';
  for (const path of ['/domain/catalog/token', auth]) {
    t.is((await nobody(path, { headers: { 'athenz-principal-auth': token } })).status, 200);
    t.is((await player(path, { headers: { 'athenz-principal-auth': `${token}x` } })).status, 401);
  }
});

test('the profile signet has neither', async (t) => {
  const call = caller(t, signet, await athenz.pki.identity('media.player'));
  t.is((await call('/domain/catalog/token')).status, 404);
  t.is((await call('/oauth2/auth')).status, 404);
});

/** A request of `zts-idtoken`, with changes; undefined leaves a parameter out. */
function authPath(changes: Readonly<Record<string, string | undefined>> = {}): string {
  const all = {
    response_type: 'id_token',
    client_id: 'catalog.api',
    scope: 'openid roles',
    nonce: 'n1',
    keyType: 'EC',
    fullArn: 'false',
    expiryTime: '3600',
    output: 'json',
    roleInAudClaim: 'false',
    allScopePresent: 'false',
    ...changes,
  };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(all)) if (value !== undefined) query.set(name, value);
  return `/oauth2/auth?${query}`;
}

async function claimsOf(token: unknown) {
  const { keys } = (await player('/oauth2/keys?rfc=true')).body as JwkList;
  const set = createLocalJWKSet({ keys: keys.map((key) => ({ ...key })) });
  return (await jwtVerify(String(token), set, { currentDate: toDate(clock.now()) })).payload;
}

test('an ID token alone: the answer and the claims', async (t) => {
  const answer = await player(authPath());
  t.is(answer.status, 200, answer.text);
  const { id_token, ...rest } = answer.body as Record<string, unknown>;
  t.deepEqual(rest, {
    version: 1,
    token_type: 'urn:ietf:params:oauth:token-type:id_token',
    success: true,
    expiration_time: now + 3600,
  });
  t.deepEqual(await claimsOf(id_token), {
    ver: 1,
    iss: athenz.running.issuer,
    aud: 'catalog.api',
    sub: 'media.player',
    iat: now,
    exp: now + 3600,
    auth_time: now,
    nonce: 'n1',
    groups: ['editor', 'reader', 'short'],
  });
});

for (const [note, changes, groups] of [
  ['nothing asked for', { scope: 'openid' }, undefined],
  ['groups', { scope: 'openid groups' }, ['devs']],
  ['both', { scope: 'OPENID GROUPS roles' }, ['devs', 'editor', 'reader', 'short']],
  ['named ones', { scope: 'openid catalog:role.Reader catalog:role.admin catalog:group.devs' }, ['devs', 'reader']],
  ['full names', { scope: 'openid catalog:role.reader', fullArn: 'true' }, ['catalog:role.reader']],
  ['another domain', { scope: 'openid media:group.crew', fullArn: 'true' }, ['media:group.crew']],
  ['none held', { scope: 'openid catalog:group.ops' }, []],
  [
    'all of them held',
    { scope: 'openid catalog:role.reader catalog:group.devs', allScopePresent: 'true' },
    ['devs', 'reader'],
  ],
] as const) {
  test(`the groups of an ID token: ${note}`, async (t) => {
    const answer = await player(authPath(changes));
    t.deepEqual((await claimsOf(field(answer.body, 'id_token')))['groups'], groups);
  });
}

test('an ID token lives as long as asked for, at most 43,200 seconds', async (t) => {
  for (const [asked, life] of [
    [undefined, 3600],
    ['60', 60],
    ['43200', 43_200],
    ['43201', 43_200],
  ] as const) {
    t.is(field((await player(authPath({ expiryTime: asked }))).body, 'expiration_time'), now + life);
  }
});

for (const [note, changes, status] of [
  ['another type', { response_type: 'code' }, 400],
  ['no nonce', { nonce: undefined }, 400],
  ['no client', { client_id: undefined }, 400],
  ['a client without a domain', { client_id: 'api' }, 400],
  ['a client that is not registered', { client_id: 'catalog.web' }, 400],
  ['a client that is disabled', { client_id: 'catalog.off' }, 400],
  ['a client of no domain', { client_id: 'nowhere.api' }, 400],
  ['no openid', { scope: 'roles' }, 400],
  ['no scope', { scope: undefined }, 400],
  ['two domains', { scope: 'openid catalog:role.reader media:group.crew' }, 400],
  ['an item that is none', { scope: 'openid catalog:domain' }, 400],
  ['a name that is none', { scope: 'openid catalog:role.a,b' }, 400],
  ['an unknown domain', { scope: 'openid nowhere:role.reader' }, 404],
  ['a life that is no number', { expiryTime: '1h' }, 400],
  ['no place to go', { output: undefined }, 400],
  ['not all of them held', { scope: 'openid catalog:role.reader catalog:role.admin', allScopePresent: 'true' }, 403],
  ['an address of somebody else', { redirect_uri: 'https://evil.example/' }, 400],
  ['more than the address', { redirect_uri: 'https://films.example/login/x' }, 400],
  ['the name of another service', { redirect_uri: 'https://web.catalog.athenz.cloud' }, 400],
  ['a name below another suffix', { redirect_uri: 'https://api.catalog.other.cloud' }, 400],
] as const) {
  test(`an ID token is refused: ${note}`, async (t) => {
    const answer = await player(authPath(changes));
    t.is(answer.status, status, answer.text);
    t.deepEqual(Object.keys(answer.body as object), ['code', 'message']);
  });
}

test('an ID token is refused to role certificates, to nobody, and where the server gives none', async (t) => {
  t.is((await roleHolder(authPath())).status, 403);
  t.is((await nobody(authPath())).status, 401);
  const call = caller(t, silent, await athenz.pki.identity('media.player'));
  t.is((await call(authPath())).status, 403);
});

test('scopes of an ID token hold at most 256 items', async (t) => {
  const scope = (count: number) => ['openid', ...Array.from({ length: count - 1 }, () => 'roles')].join(' ');
  t.is((await player(authPath({ scope: scope(256) }))).status, 200);
  t.is((await player(authPath({ scope: scope(257) }))).status, 400);
});

for (const [client, redirect_uri] of [
  ['catalog.api', 'https://films.example/login'],
  ['catalog.api', 'https://api.catalog.athenz.cloud'],
  ['media.video.web', 'https://web.media-video.signet.test'],
] as const) {
  test(`an ID token goes to its service by way of the browser: ${redirect_uri}`, async (t) => {
    const asked = { client_id: client, redirect_uri, output: undefined, state: 'a b&c=d#e' };
    const answer = await player(authPath({ ...asked, scope: 'openid' }));
    t.deepEqual([answer.status, answer.text], [302, '']);
    const { origin, pathname, hash } = new URL(String(answer.headers['location']));
    t.is(`${origin}${pathname}`.replace(/\/$/, ''), redirect_uri);
    const fragment = new URLSearchParams(hash.slice(1));
    t.is(fragment.get('state'), 'a b&c=d#e');
    t.is((await claimsOf(fragment.get('id_token'))).aud, client);
  });
}

test('no token of one kind is taken for another', async (t) => {
  const token = String(field((await player('/domain/catalog/token')).body, 'token'));
  const answer = await guest('/access/read?resource=catalog:x', { headers: { 'athenz-principal-auth': token } });
  t.is(answer.status, 401);
  const asked = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });
  t.is(
    (await nobody('/oauth2/token', { ...asked, headers: { ...asked.headers, 'athenz-principal-auth': token } })).status,
    401,
  );
});
