import { createPublicKey, generateKeyPairSync, verify, X509Certificate } from 'node:crypto';
import { parseTimestamp, systemClock } from '@signet/policy-engine/clock';
import type { JwkList } from '@signet/policy-engine/wire';
import { issueServiceToken, tokenKey } from '@signet/server/oauth/service-token';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { field, instanceRequest, instanceWorld, json, register } from '#support/instance-world';
import { principalToken } from '#support/principal-token';
import { ecPair, requestPem } from '#support/requests';
import { form, wholeFile } from '#support/start-server';

/* Principal tokens that the server signs for instances of the profile `athenz`, and the keys that it tells them. */

const file = wholeFile();
const clock = new FakeClock(systemClock.now());
const now = Math.floor(clock.now() / 1000);
const world = await instanceWorld(file, { clock, options: { profile: 'athenz' } });
const plain = await instanceWorld(file, { clock, pki: world.pki });
const { keys } = (await (await world.identity('media.player'))('/oauth2/keys?rfc=true')).body as JwkList;
test.after.always(() => file.end());

const fieldsOf = (token: string) =>
  new Map(token.split(';').map((item) => [item.slice(0, item.indexOf('=')), item.slice(item.indexOf('=') + 1)]));
const fromY = (text: string) =>
  Buffer.from(text.replaceAll('.', '+').replaceAll('_', '/').replaceAll('-', '='), 'base64');
const asked = form({ grant_type: 'client_credentials', scope: 'catalog:role.reader' });
const accessWith = async (token: string) =>
  (await world.as()('/oauth2/token', { ...asked, headers: { ...asked.headers, 'athenz-principal-auth': token } }))
    .status;

test('an instance is told its token and the keys of the server when it asks for them', async (t) => {
  const { answer, certificate } = await register(world, 's-1', { token: true, athenzJWK: true });
  t.is(answer.status, 201, answer.text);
  const token = String(field(answer.body, 'serviceToken'));
  const { s = '', ...rest } = Object.fromEntries(fieldsOf(token));
  const serial = new X509Certificate(certificate).serialNumber.toLowerCase();
  const key = keys.find(({ kid }) => kid === rest['k']);
  t.deepEqual(rest, {
    v: 'S1',
    d: 'media',
    n: 'player',
    k: key?.kid ?? '',
    z: 'zts',
    h: '127.0.0.1',
    a: serial,
    t: String(now),
    e: String(now + 86_400),
    i: '127.0.0.1',
  });
  t.is(key?.purpose, 'token');
  const text = Buffer.from(token.slice(0, token.lastIndexOf(';s=')));
  t.true(verify('sha256', text, createPublicKey({ key: { ...key }, format: 'jwk' }), fromY(s)));
  const told = field(answer.body, 'athenzJWK');
  t.deepEqual([field(told, 'zts'), field(told, 'zms')], [{ keys }, { keys }]);
  t.true((parseTimestamp(String(field(told, 'modified'))) ?? 0) > 0);
  t.is(await accessWith(token), 200);
});

test('nothing of it where it is not asked for, and in the profile signet', async (t) => {
  for (const [id, more, of] of [
    ['s-2', {}, world],
    ['s-3', { token: false, athenzJWK: null }, world],
    ['s-4', { token: true, athenzJWK: true }, plain],
  ] as const) {
    const { answer } = await register(of, id, more);
    t.is(answer.status, 201, answer.text);
    t.deepEqual([field(answer.body, 'serviceToken'), field(answer.body, 'athenzJWK')], [undefined, undefined]);
  }
});

test('what is no boolean is refused before the join token is spent', async (t) => {
  const pair = ecPair();
  const attestationData = await world.token('s-5');
  const body = {
    provider: 'sys.auth.server',
    domain: 'media',
    service: 'player',
    attestationData,
    csr: instanceRequest('s-5', pair),
  };
  const refused = await world.as()('/instance', json({ ...body, token: 'yes' }));
  t.deepEqual(refused.body, { code: 400, message: '`token` is missing or not of its type' });
  t.is((await world.as()('/instance', json(body))).status, 201);
});

test('a token is given at a refresh too, and ends with the instance', async (t) => {
  const first = await register(world, 's-6', { token: true });
  const pair = ecPair();
  const path = '/instance/sys.auth.server/media/player/s-6';
  const answer = await world.as(first)(path, json({ csr: instanceRequest('s-6', pair), token: true, athenzJWK: true }));
  t.is(answer.status, 200, answer.text);
  t.deepEqual(field(field(answer.body, 'athenzJWK'), 'zts'), { keys });
  const tokens = [first.answer.body, answer.body].map((body) => String(field(body, 'serviceToken')));
  const serial = new X509Certificate(String(field(answer.body, 'x509Certificate'))).serialNumber.toLowerCase();
  t.is(fieldsOf(tokens[1] ?? '').get('a'), serial);
  for (const token of tokens) t.is(await accessWith(token), 200);
  const admin = await world.identity('media.admin');
  t.is((await admin(path, { method: 'DELETE' })).status, 204);
  for (const token of tokens) t.is(await accessWith(token), 401);
});

test('a token of the server is one for its service, and for the operations of principal tokens', async (t) => {
  const { answer } = await register(world, 's-7', { token: true });
  const token = String(field(answer.body, 'serviceToken'));
  t.is(await accessWith(token.replace(';n=player', ';n=studio')), 401);
  t.is(await accessWith(token.replace(/;a=[0-9a-f]+/, ';a=00')), 401);
  const headers = { 'athenz-principal-auth': token };
  const read = (path: string, of = world) => of.as()(path, { headers });
  t.is((await read('/access/read?resource=catalog:movie')).status, 200);
  t.is((await read('/instance/sys.auth.server/media/player/s-8/token')).status, 401);
  const csr = requestPem(ecPair(), { commonNames: ['media.player'] });
  const refresh = json({ csr, keyId: '0' });
  const refreshed = await world.as()('/instance/media/player/refresh', {
    ...refresh,
    headers: { ...refresh.headers, ...headers },
  });
  t.deepEqual([refreshed.status, field(refreshed.body, 'message')], [401, 'the certificate of the caller is required']);
  const other = await plain.identity('media.player');
  t.is((await other('/access/read?resource=catalog:movie', { headers })).status, 401, 'profile signet');
});

test('nobody signs in the place of the server', async (t) => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const bundleKey = keys.find(({ purpose }) => purpose === 'bundle')?.kid ?? '';
  const tokenKey = keys.find(({ purpose }) => purpose === 'token')?.kid ?? '';
  for (const k of ['0', bundleKey, tokenKey, '']) {
    for (const z of ['zts', 'zms', '']) {
      const token = principalToken({ now: clock.now(), key: pair.privateKey, fields: { k, z } });
      t.is(await accessWith(token), 401, `${z} ${k}`);
    }
  }
});

test('the key of a token is the published one of its id, and signs tokens', (t) => {
  const jwk = (kid: string, purpose: 'token' | 'bundle') => {
    const { x = '', y = '' } = ecPair().publicKey.export({ format: 'jwk' });
    return { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig', purpose } as const;
  };
  const published = [jwk('bundle', 'bundle'), jwk('first', 'token'), jwk('second', 'token')];
  const of = (kid: string) =>
    tokenKey({ current: () => ({ published }) as never }, kid)?.export({ format: 'jwk' })['x'];
  t.deepEqual(['first', 'second', 'bundle', 'other'].map(of), [published[1]?.x, published[2]?.x, undefined, undefined]);
});

test('a token ends with its certificate and with the keys that verify it, and holds no address with colons', (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const deps = { keys: { key: () => ({ kid: 'k', privateKey }) }, clock, host: 'h.example', longestSeconds: 2_592_000 };
  const facts = { domain: 'media', service: 'player', address: '10.0.0.1', serial: '0a', notAfter: now + 2_592_000 };
  const of = (more: Partial<typeof facts> & Partial<typeof deps>) =>
    fieldsOf(issueServiceToken({ ...deps, ...more }, { ...facts, ...more }));
  t.is(of({}).get('e'), String(now + 86_400));
  t.is(of({ notAfter: now + 60 }).get('e'), String(now + 60));
  t.is(of({ longestSeconds: 600 }).get('e'), String(now + 600));
  t.is(of({}).get('i'), '10.0.0.1');
  t.is(of({ address: '::ffff:10.0.0.1' }).get('i'), '10.0.0.1');
  t.false(of({ address: '2001:db8::1' }).has('i'));
  t.false(of({ address: '' }).has('i'));
  const token = issueServiceToken(deps, facts);
  const [text = '', signature = ''] = token.split(';s=');
  t.true(verify('sha256', Buffer.from(text), publicKey, fromY(signature)));
});
