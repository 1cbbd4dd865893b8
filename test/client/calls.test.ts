import { X509Certificate } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatTimestamp } from '@signet/policy-engine/clock';
import test from 'ava';
import { exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { openssl } from '#support/openssl';
import { answer, type Respond } from './support/tls-server.ts';
import { clientWorld, failure } from './support/world.ts';

/** A token endpoint that answers another token each time, and how many it gave. */
function tokenEndpoint(): { given: number; respond: Respond } {
  const endpoint = {
    given: 0,
    respond: ((_, response) => {
      endpoint.given += 1;
      const token = { access_token: `token-${endpoint.given}`, token_type: 'Bearer', expires_in: 7200 };
      answer(response, 200, { ...token, scope: 'catalog:role.reader' });
    }) satisfies Respond,
  };
  return endpoint;
}

test('roles of the caller and of another', async (t) => {
  const { client, server } = await clientWorld(t, (_, response) => answer(response, 200, { roles: ['reader'] }));
  t.deepEqual(await client.roles.list({ domain: 'catalog' }), ['reader']);
  await client.roles.list({ domain: 'catalog', principal: 'media.studio' });
  t.deepEqual(
    server.requests.map(({ url }) => url),
    ['/v1/access/domain/catalog/principal/media.player', '/v1/access/domain/catalog/principal/media.studio'],
  );
});

test('cloud credentials are kept until a quarter of their life is left, and asked for once by many', async (t) => {
  let counter = 0;
  const world = await clientWorld(t, (_, response) => {
    counter += 1;
    const expiration = formatTimestamp(world.clock.now() + 3_600_000);
    answer(response, 200, { accessKeyId: `A${counter}`, secretAccessKey: 's', sessionToken: 't', expiration });
  });
  const { client, server, clock } = world;
  const query = { domain: 'catalog', role: 'team/Loader', durationSeconds: 3600, externalId: 'e:1' };
  const many = await Promise.all(Array.from({ length: 1000 }, () => client.aws.credentials(query)));
  t.is(new Set(many.map(({ accessKeyId }) => accessKeyId)).size, 1);
  t.deepEqual(
    server.requests.map(({ url }) => url),
    ['/v1/domain/catalog/role/team%2FLoader/creds?durationSeconds=3600&externalId=e%3A1'],
  );
  const [first] = many;
  if (first === undefined) throw new Error('there is none');
  t.is(first.expiresAt, clock.now() + 3_600_000);
  clock.advance(2_700_000);
  t.is((await client.aws.credentials(query)).accessKeyId, first.accessKeyId);
  const { expiration, ...rest } = await client.aws.provider(query)();
  t.deepEqual(rest, { accessKeyId: first.accessKeyId, secretAccessKey: 's', sessionToken: 't' });
  t.is(expiration.getTime(), first.expiresAt);
  clock.advance(1);
  t.not((await client.aws.credentials(query)).accessKeyId, first.accessKeyId);
  const before = server.requests.length;
  const other = await world.pki.issue('media.other');
  renameSync(other.certFile, world.player.certFile);
  renameSync(other.keyFile, world.player.keyFile);
  clock.advance(1000);
  await client.aws.credentials(query);
  t.is(server.requests.length, before + 1);
  for (const bad of [{ durationSeconds: 899 }, { durationSeconds: 900.5 }, { role: 'a b' }, { domain: 'a:b' }]) {
    t.is((await failure(client.aws.credentials({ ...query, ...bad })))['code'], 'invalid-argument');
  }
  t.is(server.requests.length, before + 1);
});

test('a role certificate comes with the key of its request', async (t) => {
  const { client, server, folder, player } = await clientWorld(t, (_, response) =>
    answer(response, 200, { token: player.cert, expiryTime: 1 }),
  );
  const issued = await client.certificates.role({ domain: 'catalog', role: 'reader', expiresIn: 600 });
  t.is(issued.certificate, player.cert);
  t.is(issued.notAfter, new X509Certificate(player.cert).validToDate.getTime());
  const { csr, expiryTime } = JSON.parse(server.requests[0]?.body ?? '');
  t.is(expiryTime, 600);
  writeFileSync(join(folder, 'role.csr'), csr);
  writeFileSync(join(folder, 'role.key'), issued.key ?? '');
  const { ok, output } = await openssl(folder, 'req', '-in', 'role.csr', '-verify', '-noout', '-subject');
  t.true(ok, output);
  t.regex(output, /CN ?= ?catalog:role\.reader/);
  const own = await openssl(folder, 'pkey', '-in', 'role.key', '-pubout');
  t.true((await openssl(folder, 'req', '-in', 'role.csr', '-noout', '-pubkey')).output.includes(own.output));
  t.is((await client.certificates.role({ domain: 'catalog', role: 'reader', csr })).key, undefined);
});

test('a service renews its own certificate with its names and its key', async (t) => {
  const { connect, server, pki, folder } = await clientWorld(t, () => undefined);
  const own = await pki.issue('media.player', ['URI:spiffe://x.test/ns/default/sa/media.player', 'p.x.test']);
  server.respond = (_, response) => answer(response, 200, { name: 'media.player', certificate: own.cert });
  const client = connect({ certificate: own.certFile, key: own.keyFile });
  t.is((await client.certificates.service({ expiresIn: 60 })).certificate, own.cert);
  const [request] = server.requests;
  t.is(request?.url, '/v1/instance/media/player/refresh');
  writeFileSync(join(folder, 'own.csr'), JSON.parse(request?.body ?? '').csr);
  const { output } = await openssl(folder, 'req', '-in', 'own.csr', '-verify', '-noout', '-text');
  for (const text of ['CN = media.player', 'URI:spiffe://x.test/ns/default/sa/media.player, DNS:p.x.test']) {
    t.true(output.replaceAll('CN=', 'CN = ').includes(text), output);
  }
});

test('fetch adds the token of its target, and another one after a refusal that names the token', async (t) => {
  const tokens = tokenEndpoint();
  const { connect, server } = await clientWorld(t, (request, response) => {
    if (request.url === '/v1/oauth2/token') return tokens.respond(request, response);
    if (request.url === '/fresh-only' && request.headers.authorization === 'Bearer token-1') {
      return answer(response, 403, {}, { 'www-authenticate': 'Bearer error="invalid_token"' });
    }
    if (request.url === '/never')
      return answer(response, 403, {}, { 'www-authenticate': 'Bearer error="invalid_token"' });
    if (request.url === '/policy') return answer(response, 403, {});
    if (request.url === '/away') return void response.writeHead(302, { location: 'https://evil.example/' }).end();
    return answer(response, 200, { auth: request.headers.authorization, method: request.method, body: request.body });
  });
  const origin = `https://localhost:${server.port}`;
  const client = connect({ targets: { [origin]: { domain: 'catalog', roles: ['reader'] } } });
  const asked = () => server.requests.filter(({ url }) => url === '/v1/oauth2/token').length;
  const first = await client.fetch(`${origin}/movie`, { method: 'PUT', body: 'x', headers: { 'x-y': 'z' } });
  t.deepEqual(await first.json(), { auth: 'Bearer token-1', method: 'PUT', body: 'x' });
  t.is(asked(), 1);
  t.is((await client.fetch(`${origin}/fresh-only`)).status, 200);
  t.is(asked(), 2);
  t.is((await client.fetch(`${origin}/never`)).status, 403);
  t.is(asked(), 3);
  t.is(server.requests.filter(({ url }) => url === '/never').length, 2);
  t.is((await client.fetch(`${origin}/policy`)).status, 403);
  t.is((await client.fetch(`${origin}/away`)).status, 302);
  t.is(asked(), 3);
  t.is((await client.fetch(`${origin}/movie`, { token: { domain: 'other' } })).status, 200);
  t.is(asked(), 4);
  const elsewhere = await failure(client.fetch('https://elsewhere.example/'));
  t.like(elsewhere, {
    code: 'invalid-argument',
    message: 'there is no token configured for `https://elsewhere.example`',
  });
  t.is((await failure(client.fetch(`http://localhost:${server.port}/`)))['code'], 'invalid-argument');
  const gone = AbortSignal.abort();
  t.is((await failure(client.fetch(`${origin}/movie`, { signal: gone })))['code'], 'aborted');
});

test('jose verifies tokens with the key resolver, which asks seldom', async (t) => {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig', purpose: 'token' };
  let keys: object[] = [jwk];
  const { client, server, clock } = await clientWorld(t, (_, response) =>
    answer(response, 200, { keys }, { 'cache-control': 'max-age=60' }),
  );
  const sign = (kid: string) => new SignJWT({ a: 1 }).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);
  t.is((await jwtVerify(await sign('k1'), client.keyResolver)).payload['a'], 1);
  await jwtVerify(await sign('k1'), client.keyResolver);
  t.is(server.requests.length, 1);
  for (const kid of ['x1', 'x2', 'x3']) {
    t.is((await failure(jwtVerify(await sign(kid), client.keyResolver)))['code'], 'unknown-key');
  }
  t.is(server.requests.length, 1);
  clock.advance(31_000);
  keys = [jwk, { ...jwk, kid: 'k2' }, { ...jwk, kid: 'b1', purpose: 'bundle' }];
  await jwtVerify(await sign('k2'), client.keyResolver);
  t.is((await failure(jwtVerify(await sign('b1'), client.keyResolver)))['code'], 'unknown-key');
  t.is(server.requests.length, 2);
  clock.advance(61_000);
  await jwtVerify(await sign('k1'), client.keyResolver);
  t.is(server.requests.length, 3);
  t.is((await failure(client.keyResolver({ alg: 'ES256' })))['code'], 'unknown-key');
  t.is((await failure(client.keyResolver({ kid: 'k1', alg: 'HS256' })))['code'], 'unknown-key');
});

test('a clock that was set back does not keep the key resolver from asking', async (t) => {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig' };
  let kids = ['k1', 'k2'];
  const { client, clock } = await clientWorld(t, (_, response) =>
    answer(response, 200, { keys: kids.map((kid) => ({ ...jwk, kid })) }),
  );
  const sign = (kid: string) => new SignJWT({ a: 1 }).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);
  await jwtVerify(await sign('k1'), client.keyResolver);
  clock.advance(-86_400_000);
  kids = ['k2', 'k3'];
  t.is((await failure(jwtVerify(await sign('k1'), client.keyResolver)))['code'], 'unknown-key');
  await t.notThrowsAsync(jwtVerify(await sign('k3'), client.keyResolver));
});

test('the key resolver does not take keys that share none with those before', async (t) => {
  const pairs = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
  const [old, other] = await Promise.all(
    pairs.map(async ({ publicKey }) => ({ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' })),
  );
  let keys: object[] = [old ?? {}];
  const { client, clock } = await clientWorld(t, (_, response) => answer(response, 200, { keys }));
  const sign = (by: number, kid = 'k1') =>
    new SignJWT({ a: 1 }).setProtectedHeader({ alg: 'ES256', kid }).sign(pairs[by]?.privateKey ?? never());
  await jwtVerify(await sign(0), client.keyResolver);
  // the same name over another key, as an impostor would publish it
  keys = [other ?? {}, { ...other, kid: 'k2' }];
  clock.advance(3_600_001);
  await jwtVerify(await sign(0), client.keyResolver);
  await t.throwsAsync(jwtVerify(await sign(1), client.keyResolver), { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' });
  clock.advance(30_000);
  t.regex(String((await failure(jwtVerify(await sign(1, 'k2'), client.keyResolver)))['message']), /was known before/);
  keys = [old ?? {}, { ...other, kid: 'k2' }];
  clock.advance(30_000);
  await jwtVerify(await sign(1, 'k2'), client.keyResolver);
});

function never(): never {
  throw new Error('there is no such key');
}

const lives: [
  note: string,
  change: { expiresIn?: number; lifetimeMs?: unknown; expiresAt?: unknown },
  isUsed: boolean,
][] = [
  ['the whole life that was asked for', { expiresIn: 7_200_000, lifetimeMs: 7_200_000 }, true],
  ['a millisecond more than was asked for', { expiresIn: 7_200_001, lifetimeMs: 7_200_000 }, false],
  ['thirty days', { expiresIn: 30 * 86_400_000, lifetimeMs: 40 * 86_400_000 }, true],
  ['a millisecond more than thirty days', { expiresIn: 30 * 86_400_000 + 1, lifetimeMs: 40 * 86_400_000 }, false],
  ['no asked-for life', { expiresIn: 1000, lifetimeMs: 0 }, false],
  ['less than none', { expiresIn: 1000, lifetimeMs: -1 }, false],
  ['a fraction', { expiresIn: 1000, lifetimeMs: 7_200_000.5 }, false],
  ['an end that no clock reaches', { expiresAt: 1e300, lifetimeMs: 1e300 }, false],
  ['an end that is a text', { expiresAt: '9999', lifetimeMs: 7_200_000 }, false],
];
for (const [note, { expiresIn = 0, expiresAt, lifetimeMs }, isUsed] of lives) {
  test(`a kept token with an impossible life is not used: ${note}`, async (t) => {
    const world = await clientWorld(t, tokenEndpoint().respond);
    const tokenCacheFile = join(world.folder, 'tokens.json');
    const first = world.connect({ tokenCacheFile });
    await first.tokens.get({ domain: 'catalog' });
    await first.close();
    const file = JSON.parse(readFileSync(tokenCacheFile, 'utf8'));
    const [entry] = Object.values<{ lifetimeMs: unknown; token: Record<string, unknown> }>(file.tokens);
    if (entry === undefined) throw new Error('no token is kept');
    entry.lifetimeMs = lifetimeMs;
    Object.assign(entry.token, { accessToken: 'kept', expiresAt: expiresAt ?? world.clock.now() + expiresIn });
    writeFileSync(tokenCacheFile, JSON.stringify(file));
    await using client = world.connect({ tokenCacheFile });
    const { accessToken } = await client.tokens.get({ domain: 'catalog' });
    t.is(accessToken === 'kept', isUsed);
    // what was not used is not kept either
    t.is(readFileSync(tokenCacheFile, 'utf8').includes('"kept"'), isUsed);
  });
}

test('tokens in a file serve the next client, with mode 0600 and by the same rule', async (t) => {
  const world = await clientWorld(t, tokenEndpoint().respond);
  const tokenCacheFile = join(world.folder, 'tokens.json');
  const first = world.connect({ tokenCacheFile });
  const { accessToken } = await first.tokens.get({ domain: 'catalog' });
  await first.close();
  t.is(statSync(tokenCacheFile).mode & 0o777, 0o600);
  const again = async () => {
    await using client = world.connect({ tokenCacheFile });
    const { accessToken: token } = await client.tokens.get({ domain: 'catalog' });
    return { token, problem: client.tokens.cacheProblem?.message };
  };
  t.deepEqual(await again(), { token: accessToken, problem: undefined });
  const other = await world.pki.issue('media.studio');
  await using studio = world.connect({ tokenCacheFile, certificate: other.certFile, key: other.keyFile });
  t.not((await studio.tokens.get({ domain: 'catalog' })).accessToken, accessToken);
  t.deepEqual(await again(), { token: accessToken, problem: undefined });
  world.clock.advance(5_400_001);
  t.not((await again()).token, accessToken);
  t.false(readdirSync(world.folder).some((name) => name.endsWith('.tmp')));
  writeFileSync(tokenCacheFile, '{"version":1,"tokens":{"x":{"token":3}}');
  t.is((await again()).problem, undefined);
  chmodSync(tokenCacheFile, 0o644);
  const before = readFileSync(tokenCacheFile, 'utf8');
  const message = 'tokenCacheFile must be a plain file of this user with mode 0600';
  t.is((await again()).problem, message);
  t.is(readFileSync(tokenCacheFile, 'utf8'), before);
  const link = join(world.folder, 'link.json');
  symlinkSync(tokenCacheFile, link);
  await using linked = world.connect({ tokenCacheFile: link });
  await linked.tokens.get({ domain: 'catalog' });
  t.is(linked.tokens.cacheProblem?.message, 'tokenCacheFile cannot be read');
});
