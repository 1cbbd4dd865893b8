import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PolicyEngine, TokenVerifier, type TokenVerifierOptions } from '@signet/policy-engine';
import { createTestAuthority, type TestAuthority, TestClock } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

const url = 'https://tokens.example/v1/oauth2/keys?rfc=true';

/** A key server in memory: what it answers can be changed, and it counts how often it was asked. */
function keyServer(answer: () => unknown) {
  const server = {
    answer,
    asked: 0,
    fetch: async (): Promise<Response> => {
      server.asked += 1;
      return Response.json(server.answer());
    },
  };
  return server;
}

function down(): never {
  throw new TypeError('fetch failed');
}

function verifierOptions(authority: TestAuthority, keys: TokenVerifierOptions['keys']): TokenVerifierOptions {
  return {
    keys,
    issuers: [authority.issuer],
    audiences: ['catalog'],
    clock: authority.clock,
    requireBound: false,
  };
}

async function token(authority: TestAuthority, header: Record<string, unknown> = {}): Promise<string> {
  return authority.token({ domain: 'catalog', roles: ['reader'], header });
}

test('ten thousand unknown key names lead to one fetch in 30 s, and known keys go on working', async (t) => {
  const authority = await createTestAuthority();
  const server = keyServer(() => authority.keys);
  using verifier = await TokenVerifier.open(verifierOptions(authority, { url, fetch: server.fetch }));
  const [, ...signed] = (await token(authority)).split('.');
  const forged = Array.from({ length: 10_000 }, (_, index) => {
    const header = JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: `k${index}` });
    return [Buffer.from(header).toString('base64url'), ...signed].join('.');
  });
  const flood = async () =>
    new Set((await Promise.all(forged.map((one) => verifier.verify({ token: one })))).map(({ kind }) => kind));
  t.deepEqual(await flood(), new Set(['invalid']));
  t.is(server.asked, 1);
  authority.clock.advance(30_000);
  await flood();
  await flood();
  t.is(server.asked, 2);
  authority.clock.advance(-3_600_000);
  await flood();
  t.is(server.asked, 2);
  authority.clock.advance(3_600_000);
  t.is((await verifier.verify({ token: await token(authority) })).kind, 'valid');
  t.is(server.asked, 2);
});

test('a new key is found at once, and a withdrawn one refuses tokens that were verified before', async (t) => {
  const clock = new TestClock();
  const [before, after] = [await createTestAuthority({ clock }), await createTestAuthority({ clock })];
  const server = keyServer(() => before.keys);
  using verifier = await TokenVerifier.open(verifierOptions(before, { url, fetch: server.fetch }));
  const [old, fresh] = [await token(before), await token(after)];
  t.is((await verifier.verify({ token: old })).kind, 'valid');
  // the key for bundles stays
  const kept = before.keys.keys.filter(({ purpose }) => purpose === 'bundle');
  server.answer = () => ({ keys: [...after.keys.keys, ...kept] });
  clock.advance(30_000);
  t.is((await verifier.verify({ token: fresh })).kind, 'valid');
  t.deepEqual(await verifier.verify({ token: old }), { kind: 'invalid', fault: 'unknown-key' });
});

test('keys that share none with those before are refused and told, also after a restart, until the kept ones are removed', async (t) => {
  const clock = new TestClock();
  const [genuine, other] = [await createTestAuthority({ clock }), await createTestAuthority({ clock })];
  const cacheFile = join(temporaryFolder(t), 'keys.cache.json');
  const server = keyServer(() => genuine.keys);
  const open = () => TokenVerifier.open(verifierOptions(genuine, { url, fetch: server.fetch, cacheFile }));
  const [old, fresh] = [await token(genuine), await token(other)];
  const kinds = async (verifier: TokenVerifier) =>
    [(await verifier.verify({ token: old })).kind, (await verifier.verify({ token: fresh })).kind] as const;
  // the same names over other keys are not common keys
  const renamed = other.keys.keys.map((jwk, index) => ({ ...jwk, kid: genuine.keys.keys[index]?.kid ?? '' }));
  for (const keys of [other.keys.keys, renamed]) {
    server.answer = () => genuine.keys;
    using verifier = await open();
    server.answer = () => ({ keys });
    clock.advance(30_000);
    t.deepEqual(await kinds(verifier), ['valid', 'invalid']);
    t.is(verifier.keysError?.code, 'keys-replaced');
  }
  server.answer = () => other.keys;
  {
    using restarted = await open();
    t.deepEqual(await kinds(restarted), ['valid', 'invalid']);
    t.is(restarted.keysError?.code, 'keys-replaced');
  }
  unlinkSync(cacheFile);
  using accepted = await open();
  t.deepEqual(await kinds(accepted), ['invalid', 'valid']);
  t.is(accepted.keysError, undefined);
});

const outages: [note: string, answer: () => unknown][] = [
  ['does not answer', down],
  ['answers no keys', () => ({ keys: [] })],
  ['answers something else', () => ({ message: 'sorry' })],
  ['answers private keys', () => ({ keys: [{ kty: 'oct', kid: 'a', k: 'AA' }] })],
  ['answers too much', () => ({ keys: [], padding: 'x'.repeat(1_048_577) })],
];
for (const [note, answer] of outages) {
  test(`the last keys count while the issuer ${note}`, async (t) => {
    const authority = await createTestAuthority();
    const server = keyServer(() => authority.keys);
    using verifier = await TokenVerifier.open(verifierOptions(authority, { url, fetch: server.fetch }));
    server.answer = answer;
    authority.clock.advance(30_000);
    t.is((await verifier.verify({ token: await token(authority, { kid: 'unknown' }) })).kind, 'invalid');
    t.is(server.asked, 2);
    t.is(verifier.keysError?.code, 'keys-unavailable');
    t.is((await verifier.verify({ token: await token(authority) })).kind, 'valid');
  });
}

test('an issuer that never answers holds nothing up for longer than the time that it has', async (t) => {
  const authority = await createTestAuthority();
  const server = keyServer(() => authority.keys);
  const deaf = async () => (server.asked === 0 ? server.fetch() : new Promise<never>(() => {}));
  using verifier = await TokenVerifier.open(verifierOptions(authority, { url, fetch: deaf, timeoutMs: 50 }));
  authority.clock.advance(30_000);
  const forged = await token(authority, { kid: 'unknown' });
  t.deepEqual(await verifier.verify({ token: forged }), { kind: 'invalid', fault: 'unknown-key' });
  t.is(verifier.keysError?.code, 'keys-unavailable');
  t.is((await verifier.verify({ token: await token(authority) })).kind, 'valid');
});

test('a restart works while the issuer is down, from the kept keys of the same address only', async (t) => {
  const authority = await createTestAuthority();
  const cacheFile = join(temporaryFolder(t), 'keys.cache.json');
  const server = keyServer(() => authority.keys);
  const open = (address: string) =>
    TokenVerifier.open(verifierOptions(authority, { url: address, fetch: server.fetch, cacheFile }));
  (await open(url)).close();
  server.answer = down;
  using verifier = await open(url);
  t.is((await verifier.verify({ token: await token(authority) })).kind, 'valid');
  await t.throwsAsync(open('https://elsewhere.example/keys'), { code: 'keys-unavailable' });
  writeFileSync(cacheFile, '{"url":');
  await t.throwsAsync(open(url), { code: 'keys-unavailable' });
});

test('a file that cannot be written is reported, and the keys count', async (t) => {
  const authority = await createTestAuthority();
  const { fetch } = keyServer(() => authority.keys);
  const cacheFile = join(temporaryFolder(t), 'absent/keys.json');
  using verifier = await TokenVerifier.open(verifierOptions(authority, { url, fetch, cacheFile }));
  t.regex(verifier.keysError?.message ?? '', /cannot be kept/);
  t.is((await verifier.verify({ token: await token(authority) })).kind, 'valid');
});

test('mutual TLS with own certificates', async (t) => {
  const authority = await createTestAuthority({ clock: new TestClock(performance.timeOrigin) });
  const { pem: cert, key } = authority.certificate('sys.auth.server');
  const server = createServer({ cert, key, ca: authority.ca.pem, requestCert: true }, (_request, answer) => {
    answer.end(JSON.stringify(authority.keys));
  });
  t.teardown(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const place = `https://localhost:${typeof address === 'object' ? address?.port : 0}/keys`;
  const client = authority.certificate('media.player');
  const tls = { ca: authority.ca.pem, cert: client.pem, key: client.key };
  using verifier = await TokenVerifier.open(
    verifierOptions(authority, { url: place, tls: () => tls, timeoutMs: 60_000 }),
  );
  t.is((await verifier.verify({ token: await token(authority) })).kind, 'valid');
  for (const [serverIdentity, isTaken] of [
    ['sys.auth.server', true],
    ['spiffe://signet.test/ns/default/sa/sys.auth.server', true],
    ['host-name', true],
    ['catalog.api', false],
  ] as const) {
    const keys = { url: place, tls: { ...tls, serverIdentity }, timeoutMs: 60_000 };
    const opening = TokenVerifier.open(verifierOptions(authority, keys));
    if (isTaken) (await opening).close();
    else await t.throwsAsync(opening, { code: 'keys-unavailable' }, serverIdentity);
  }
  await t.throwsAsync(
    TokenVerifier.open(verifierOptions(authority, { url: place, tls: { ca: tls.ca }, timeoutMs: 60_000 })),
    {
      code: 'keys-unavailable',
    },
  );
  await t.throwsAsync(TokenVerifier.open(verifierOptions(authority, { url: place, timeoutMs: 60_000 })), {
    code: 'keys-unavailable',
  });
});

test('another service of the authority on the host of the token server is not asked for keys', async (t) => {
  const authority = await createTestAuthority({ clock: new TestClock(performance.timeOrigin) });
  const { pem: cert, key } = authority.certificate('catalog.api');
  let asked = 0;
  const server = createServer({ cert, key }, (_request, answer) => {
    asked += 1;
    answer.end(JSON.stringify(authority.keys));
  });
  t.teardown(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const place = `https://localhost:${typeof address === 'object' ? address?.port : 0}/keys`;
  const open = (serverIdentity?: string) => {
    const tls = { ca: authority.ca.pem, ...(serverIdentity !== undefined && { serverIdentity }) };
    return TokenVerifier.open(verifierOptions(authority, { url: place, tls, timeoutMs: 60_000 }));
  };
  await t.throwsAsync(open(), { code: 'keys-unavailable' });
  t.is(asked, 0);
  (await open('host-name')).close();
  t.is(asked, 1);
});

test('a key file by path and by address, and its replacement', async (t) => {
  const clock = new TestClock();
  const [before, after] = [await createTestAuthority({ clock }), await createTestAuthority({ clock })];
  const file = join(temporaryFolder(t), 'keys.json');
  writeFileSync(file, JSON.stringify(before.keys));
  for (const keys of [file, pathToFileURL(file), pathToFileURL(file).href]) {
    using verifier = await TokenVerifier.open(verifierOptions(before, keys));
    t.is((await verifier.verify({ token: await token(before) })).kind, 'valid');
  }
  using verifier = await TokenVerifier.open(verifierOptions(before, file));
  writeFileSync(file, JSON.stringify(after.keys));
  clock.advance(1000);
  t.is((await verifier.verify({ token: await token(after) })).kind, 'valid');
});

const refused: [note: string, keys: TokenVerifierOptions['keys'], code: string][] = [
  ['plain HTTP', 'http://tokens.example/keys', 'invalid-options'],
  ['another scheme', 'ftp://tokens.example/keys', 'invalid-options'],
  ['an address with a password', 'https://a:b@tokens.example/keys', 'invalid-options'],
  ['a file of another host', 'file://elsewhere/keys.json', 'invalid-options'],
  ['a file that is not there', '/nonexistent/keys.json', 'keys-unavailable'],
  ['two ways to fetch', { url, tls: {}, fetch: keyServer(down).fetch }, 'invalid-options'],
  [
    'two places to keep keys',
    { url, cacheFile: 'a', store: { read: async () => undefined, write: async () => {} } },
    'invalid-options',
  ],
  ['a private key', { keys: [JSON.parse('{"kty":"oct","kid":"a","k":"AA"}')] }, 'keys-malformed'],
];
for (const [note, keys, code] of refused) {
  test(`keys refused at the start: ${note}`, async (t) => {
    const authority = await createTestAuthority();
    await t.throwsAsync(TokenVerifier.open(verifierOptions(authority, keys)), { code });
  });
}

async function engineWorld(t: ExecutionContext) {
  const authority = await createTestAuthority();
  const policyDir = temporaryFolder(t);
  const assertions = [{ role: 'reader', action: 'read', resource: 'movie' }];
  await authority.writeBundle(policyDir, { domain: 'catalog', policies: [{ name: 'catalog:policy.p', assertions }] });
  return { authority, policyDir };
}

test('an engine takes its keys from an address', async (t) => {
  const { authority, policyDir } = await engineWorld(t);
  const server = keyServer(() => authority.keys);
  const keys = { url, fetch: server.fetch };
  await using engine = await PolicyEngine.open({ policyDir, keys, clock: authority.clock, requireBound: false });
  const asked = { action: 'read', resource: 'catalog:movie' };
  t.is((await engine.decide({ token: await token(authority), ...asked })).status, 'ALLOW');
  server.answer = down;
  authority.clock.advance(30_000);
  t.is((await engine.decide({ token: await token(authority, { kid: 'x' }), ...asked })).status, 'DENY_TOKEN_INVALID');
  t.is((await engine.decide({ token: await token(authority), ...asked })).status, 'ALLOW');
  t.is(engine.health().error?.code, 'keys-unavailable');
});

test('nothing in the kept file is secret, and it is complete', async (t) => {
  const authority = await createTestAuthority();
  const cacheFile = join(temporaryFolder(t), 'keys.cache.json');
  const { fetch } = keyServer(() => authority.keys);
  (await TokenVerifier.open(verifierOptions(authority, { url, fetch, cacheFile }))).close();
  const kept = JSON.parse(readFileSync(cacheFile, 'utf8'));
  t.deepEqual(kept, { url, keys: authority.keys.keys });
});
