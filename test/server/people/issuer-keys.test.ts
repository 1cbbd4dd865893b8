import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type BoundedFetch, boundedFetch } from '@signet/server/base/bounded-fetch';
import { ServiceUnavailableError } from '@signet/server/errors';
import { discoveredKeys } from '@signet/server/people/issuer-keys';
import test, { type ExecutionContext } from 'ava';
import { CompactSign, compactVerify, errors, exportJWK, generateKeyPair } from 'jose';
import { FakeClock } from '#support/clock';
import { createPki } from '#support/pki';

/* The keys of an issuer as it publishes them: when they are asked for, what is believed, and how much is read. */

const issuer = 'https://people.example/realm';
const [first, second] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')];
const [firstJwk, secondJwk] = [await exportJWK(first.publicKey), await exportJWK(second.publicKey)];
const pki = await createPki();
const { certificate, key } = await pki.server();

/** An issuer whose answers a test changes; `asked` has the addresses in order. */
function fakeIssuer() {
  const state = {
    document: { issuer, jwks_uri: 'https://people.example/keys' } as object,
    keys: [firstJwk],
    status: 200,
    held: Promise.resolve(),
  };
  const asked: string[] = [];
  const fetch: BoundedFetch = async (url) => {
    asked.push(url);
    await state.held;
    const body = url.endsWith('/keys') ? { keys: state.keys.map((jwk) => ({ ...jwk, kid: jwk.x })) } : state.document;
    return new Response(JSON.stringify(body), { status: state.status });
  };
  const clock = new FakeClock();
  const find = discoveredKeys(issuer, fetch, clock);
  const verify = async (pair: typeof first, kid: string | undefined) => {
    const text = await new CompactSign(Buffer.from('{}'))
      .setProtectedHeader({ alg: 'ES256', ...(kid !== undefined && { kid }) })
      .sign(pair.privateKey);
    return compactVerify(text, find).then(
      () => 'verified',
      (error: unknown) => (error instanceof Error ? error.constructor.name : 'unknown'),
    );
  };
  return { state, asked, clock, verify };
}

const missing = errors.JWKSNoMatchingKey.name;
const unavailable = ServiceUnavailableError.name;

test('keys are asked for with the first token, once for many, and again after ten minutes', async (t) => {
  const { asked, clock, verify } = fakeIssuer();
  t.deepEqual(asked, []);
  const all = await Promise.all(Array.from({ length: 5 }, () => verify(first, firstJwk.x)));
  t.deepEqual([...new Set(all)], ['verified']);
  const once = [`${issuer}/.well-known/openid-configuration`, 'https://people.example/keys'];
  t.deepEqual(asked, once);
  clock.advance(599_999);
  t.is(await verify(first, firstJwk.x), 'verified');
  t.is(asked.length, 2);
  clock.advance(1);
  t.is(await verify(first, firstJwk.x), 'verified');
  t.deepEqual(asked, [...once, ...once]);
});

test('a key that is not known is looked for, but not with every token', async (t) => {
  const { state, asked, clock, verify } = fakeIssuer();
  t.is(await verify(first, firstJwk.x), 'verified');
  state.keys = [secondJwk];
  t.is(await verify(second, secondJwk.x), missing, 'they were asked for a moment ago');
  t.is(asked.length, 2);
  clock.advance(10_000);
  t.deepEqual([await verify(second, secondJwk.x), await verify(first, firstJwk.x)], ['verified', missing]);
  t.is(asked.length, 4);
});

test('while an issuer is away its keys are good for an hour', async (t) => {
  const { state, clock, verify } = fakeIssuer();
  t.is(await verify(first, firstJwk.x), 'verified');
  state.status = 500;
  clock.advance(3_599_999);
  t.is(await verify(first, firstJwk.x), 'verified');
  clock.advance(10_000);
  t.is(await verify(first, firstJwk.x), unavailable);
  t.is(await verify(first, firstJwk.x), unavailable, 'keys that are too old are not used in the pause either');
  state.status = 200;
  clock.advance(10_000);
  t.is(await verify(first, firstJwk.x), 'verified');
});

test('once an issuer has failed, nobody who can use its keys waits for it', async (t) => {
  const { state, asked, clock, verify } = fakeIssuer();
  t.is(await verify(first, firstJwk.x), 'verified');
  state.status = 500;
  clock.advance(600_000);
  t.is(await verify(first, firstJwk.x), 'verified');
  t.is(asked.length, 3);
  const { promise, resolve } = Promise.withResolvers<void>();
  state.held = promise;
  state.status = 200;
  clock.advance(10_000);
  t.deepEqual(await Promise.all([verify(first, firstJwk.x), verify(first, firstJwk.x)]), ['verified', 'verified']);
  t.is(asked.length, 4, 'it is asked all the same, once');
  state.keys = [firstJwk, secondJwk];
  const other = verify(second, secondJwk.x);
  resolve();
  t.is(await other, 'verified', 'who needs another key waits');
  t.is(asked.length, 5);
});

test('the pause begins with the end of an attempt', async (t) => {
  const { state, asked, clock, verify } = fakeIssuer();
  const { promise, resolve } = Promise.withResolvers<void>();
  state.held = promise;
  state.status = 500;
  const waiting = verify(first, firstJwk.x);
  clock.advance(20_000);
  resolve();
  t.deepEqual([await waiting, await verify(first, firstJwk.x), asked.length], [unavailable, unavailable, 1]);
});

test('a key that is not known is not called unknown while the issuer is away', async (t) => {
  const { state, clock, verify } = fakeIssuer();
  t.is(await verify(first, firstJwk.x), 'verified');
  state.status = 500;
  clock.advance(10_000);
  t.deepEqual([await verify(second, secondJwk.x), await verify(first, firstJwk.x)], [unavailable, 'verified']);
});

const documents: readonly (readonly [note: string, document: object])[] = [
  ['of another issuer', { issuer: 'https://people.example', jwks_uri: 'https://people.example/keys' }],
  ['without keys', { issuer }],
];
for (const [note, document] of documents) {
  test(`a document ${note} is not believed, and not asked for at once again`, async (t) => {
    const { state, asked, verify } = fakeIssuer();
    state.document = document;
    t.deepEqual([await verify(first, firstJwk.x), await verify(first, firstJwk.x)], [unavailable, unavailable]);
    t.is(asked.length, 1);
  });
}

async function httpsServer(t: ExecutionContext, bytes: number): Promise<string> {
  const server = createServer({ cert: certificate, key }, (request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: '/' }).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify('a'.repeat(bytes - 2)));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return `https://localhost:${(server.address() as AddressInfo).port}`;
}

test('an answer is read up to 256 KiB, over verified https, and no redirect is followed', async (t) => {
  const [large, tooLarge] = [await httpsServer(t, 262_144), await httpsServer(t, 262_145)];
  const fetch = boundedFetch(pki.bundle);
  t.is(String(await (await fetch(large)).json()).length, 262_142);
  await t.throwsAsync(fetch(tooLarge));
  t.is((await fetch(`${large}/moved`)).status, 302);
  await t.throwsAsync(boundedFetch(undefined)(large), undefined, 'a certificate of nobody that this machine trusts');
  await t.throwsAsync(fetch(large.replace('https:', 'http:')), { message: 'the address of an issuer must be https' });
});
