import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { loadConfig } from '@signet/server/config/config';
import { errorBody } from '@signet/server/http/error-response';
import test from 'ava';
import { decodeJwt } from 'jose';
import { FakeClock } from '#support/clock';
import { instanceWorld, register } from '#support/instance-world';
import { openssl } from '#support/openssl';
import { caller, form, startServer, wholeFile } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

/* Clauses of standards that no other test tries (docs/reference/conformance.md). */

const file = wholeFile();
const server = await startServer(file, {
  clock: new FakeClock(systemClock.now()),
  domains: [
    { name: 'media', services: { player: {} } },
    { name: 'catalog', roles: { reader: ['media.player'] }, services: { api: {} } },
  ],
});
const player = caller(file, server, await server.pki.identity('media.player'));
test.after.always(() => file.end());

test('an answer has the members of RFC 6749 and no refresh token, and no two tokens have one jti', async (t) => {
  const ask = () =>
    player('/oauth2/token', form({ grant_type: 'client_credentials', scope: 'catalog:domain', expires_in: '600' }));
  const [one, other] = [await ask(), await ask()].map(({ body }) => body as Record<string, unknown>);
  t.deepEqual(
    { ...one, access_token: typeof one?.['access_token'] },
    { access_token: 'string', token_type: 'Bearer', expires_in: 600, scope: 'catalog:role.reader' },
  );
  const [jti, another] = [one, other].map((body) => decodeJwt(String(body?.['access_token'])).jti);
  t.regex(String(jti), /^[\w-]{16,}$/);
  t.not(jti, another, 'asked for in the same second');
});

test('error_description has the characters that RFC 6749 allows', (t) => {
  const all = Array.from({ length: 0x180 }, (_, code) => String.fromCodePoint(code)).join('');
  const answer = { status: 400, message: `${all}\u2028\u{1f600}`, headers: {}, oauthError: 'x', unexpected: false };
  const { error_description: description = '' } = errorBody(answer as never, true);
  t.regex(String(description), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  t.true(String(description).includes("!'#$%&"), 'what is allowed stays, and a quote is another one');
  t.false(Object.hasOwn(errorBody(answer as never, false), 'error_description'));
});

test('a trust domain is a host name in small letters', (t) => {
  const path = join(temporaryFolder(t), 'signet.yaml');
  const load = (trustDomain: string) => {
    const tls = 'tls: { certificate: c.pem, key: k.pem, clientCa: ca.pem }';
    writeFileSync(path, `${tls}\ncertificates: { trustDomain: ${JSON.stringify(trustDomain)} }\n`);
    return loadConfig(path).certificates.trustDomain;
  };
  t.is(load('corp-1.example'), 'corp-1.example');
  for (const name of ['Corp.example', 'corp.example/x', 'corp.example:1', 'user@corp.example', '', 'corp%2eexample']) {
    t.throws(() => load(name), { message: /trustDomain/ }, name);
  }
});

test('a revocation list is of version 2, with key identifier, number, times and reasons', async (t) => {
  const world = await instanceWorld(t);
  await register(world, 'c-1');
  const admin = await world.identity('media.admin');
  const folder = temporaryFolder(t);
  const list = async () => {
    writeFileSync(join(folder, 'list.pem'), (await admin('/crl?format=pem')).text);
    return (await openssl(folder, 'crl', '-in', 'list.pem', '-noout', '-text')).output;
  };
  t.regex(await list(), /No Revoked Certificates/);
  t.is((await admin('/instance/sys.auth.server/media/player/c-1', { method: 'DELETE' })).status, 204);
  const text = await list();
  for (const part of [
    /Version 2 \(0x1\)/,
    /Last Update: \w+ +\d+ [\d:]+ \d{4} GMT\n +Next Update: \w+ +\d+ [\d:]+ \d{4} GMT/,
    /X509v3 Authority Key Identifier: *\n +(?:keyid:)?[0-9A-F:]{59}/,
    /X509v3 CRL Number: *\n +\w+/,
    /X509v3 CRL Reason Code: *\n +Cessation Of Operation/,
  ]) {
    t.regex(text, part);
  }
});

test('HEAD of a resource is GET without its body', async (t) => {
  for (const path of [
    '/oauth2/keys?rfc=true',
    '/.well-known/oauth-authorization-server',
    '/domain/catalog/policy/signed',
  ]) {
    const [get, head] = [await player(path), await player(path, { method: 'HEAD' })];
    t.deepEqual([head.status, head.text], [get.status, ''], path);
    for (const name of ['etag', 'content-type', 'content-length', 'cache-control']) {
      t.is(head.headers[name], get.headers[name], `${path}: ${name}`);
    }
  }
});
