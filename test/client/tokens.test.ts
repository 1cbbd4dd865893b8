import type { TokenQuery } from '@signet/client';
import test from 'ava';
import { isNoName } from '#support/invalid-name';
import { until } from '#support/until';
import { answer, type Respond } from './support/tls-server.ts';
import { clientWorld, failure } from './support/world.ts';

const minute = 60_000;
let counter = 0;

/** Answers as the token endpoint, with a life of what was asked for (or `life` seconds) and another token each time. */
function tokenServer(life = 7200): Respond {
  return (request, response) => {
    const form = new URLSearchParams(request.body);
    counter += 1;
    answer(response, 200, {
      access_token: `token-${counter}`,
      token_type: 'Bearer',
      expires_in: Number(form.get('expires_in') ?? life),
      scope: 'catalog:role.reader',
      ...(form.get('scope')?.includes('openid') ? { id_token: `id-${counter}` } : {}),
    });
  };
}

const forms: readonly { note: string; query: TokenQuery; form: Record<string, string> }[] = [
  {
    note: 'all roles of a domain',
    query: { domain: 'catalog' },
    form: { grant_type: 'client_credentials', client_id: 'media.player', scope: 'catalog:domain' },
  },
  {
    note: 'named roles, sorted and each once, lower-cased',
    query: { domain: 'Catalog', roles: ['reader', 'Admin', 'reader'] },
    form: {
      grant_type: 'client_credentials',
      client_id: 'media.player',
      scope: 'catalog:role.admin catalog:role.reader',
    },
  },
  {
    note: 'a life',
    query: { domain: 'catalog', expiresIn: 600 },
    form: { grant_type: 'client_credentials', client_id: 'media.player', scope: 'catalog:domain', expires_in: '600' },
  },
  {
    note: 'the default life asked for as 0',
    query: { domain: 'catalog', expiresIn: 0 },
    form: { grant_type: 'client_credentials', client_id: 'media.player', scope: 'catalog:domain' },
  },
];

for (const { note, query, form } of forms) {
  test(`asks for ${note}`, async (t) => {
    const { client, server, clock } = await clientWorld(t, tokenServer());
    const token = await client.tokens.get(query);
    const [request] = server.requests;
    t.deepEqual(Object.fromEntries(new URLSearchParams(request?.body)), form);
    t.like(request, { method: 'POST', url: '/v1/oauth2/token', caller: 'media.player' });
    t.is(request?.headers['content-type'], 'application/x-www-form-urlencoded');
    t.is(token.expiresAt, clock.now() + Number(form['expires_in'] ?? 7200) * 1000);
    t.deepEqual(token.scope, ['catalog:role.reader']);
    t.is(token.tokenType, 'Bearer');
  });
}

// each: the life asked for, the life granted, how much later a token is asked for again, and whether the kept one serves
const reuse: readonly { note: string; expiresIn?: number; granted?: number; later: number; reused: boolean }[] = [
  { note: 'the default life: 30 minutes remain', later: 90 * minute, reused: true },
  { note: 'the default life: a millisecond less than 30 minutes remains', later: 90 * minute + 1, reused: false },
  { note: 'an hour: 15 minutes remain', expiresIn: 3600, later: 45 * minute, reused: true },
  { note: 'an hour: less than 15 minutes remain', expiresIn: 3600, later: 45 * minute + 1, reused: false },
  { note: 'ten seconds: 2.5 seconds remain', expiresIn: 10, later: 7500, reused: true },
  { note: 'ten seconds: less than 2.5 seconds remain', expiresIn: 10, later: 7501, reused: false },
  {
    note: 'a default that the server lowered: a quarter of what was granted',
    granted: 600,
    later: 450_000,
    reused: true,
  },
  { note: 'a default that the server lowered: less than a quarter', granted: 600, later: 450_001, reused: false },
  {
    note: 'an asked-for hour lowered to 20 minutes, 15 minutes remain',
    expiresIn: 3600,
    granted: 1200,
    later: 300_000,
    reused: true,
  },
  {
    note: 'an asked-for hour lowered to 20 minutes, less remains',
    expiresIn: 3600,
    granted: 1200,
    later: 300_001,
    reused: false,
  },
  { note: 'past its end', expiresIn: 10, later: 10_000, reused: false },
];

for (const { note, expiresIn, granted, later, reused } of reuse) {
  test(`reuses a token only while a quarter of its life remains: ${note}`, async (t) => {
    const respond: Respond = (_, response) => {
      counter += 1;
      const expires_in = granted ?? expiresIn ?? 7200;
      answer(response, 200, { access_token: `token-${counter}`, token_type: 'Bearer', expires_in, scope: 'a:role.b' });
    };
    const { client, server, clock } = await clientWorld(t, respond);
    const query = { domain: 'catalog', ...(expiresIn === undefined ? {} : { expiresIn }) };
    const first = await client.tokens.get(query);
    clock.advance(later);
    const second = await client.tokens.get(query);
    t.is(second.accessToken === first.accessToken, reused);
    t.is(server.requests.length, reused ? 1 : 2);
  });
}

test('keeps tokens of different questions apart, and the same one once', async (t) => {
  const { client, server } = await clientWorld(t, tokenServer());
  const queries: readonly TokenQuery[] = [
    { domain: 'catalog' },
    { domain: 'media' },
    { domain: 'catalog', roles: ['reader'] },
    { domain: 'catalog', roles: ['reader', 'editor'] },
    { domain: 'catalog', roles: ['reader'], expiresIn: 600 },
  ];
  const tokens = new Set<string>();
  for (const query of queries) tokens.add((await client.tokens.get(query)).accessToken);
  t.is(tokens.size, queries.length);
  tokens.add((await client.tokens.get({ domain: 'CATALOG', roles: ['editor', 'READER', 'editor'] })).accessToken);
  t.is(tokens.size, queries.length);
  t.is(server.requests.length, queries.length);
});

test('a thousand calls at once make one request', async (t) => {
  const { client, server } = await clientWorld(t, tokenServer());
  const tokens = await Promise.all(Array.from({ length: 1000 }, () => client.tokens.get({ domain: 'catalog' })));
  t.is(new Set(tokens.map((token) => token.accessToken)).size, 1);
  t.is(server.requests.length, 1);
});

test('the abort of one caller does not fail the others', async (t) => {
  const gate = Promise.withResolvers<void>();
  const reply = tokenServer();
  const { client, server } = await clientWorld(t, async (request, response) => {
    await gate.promise;
    await reply(request, response);
  });
  const impatient = new AbortController();
  const aborted = failure(client.tokens.get({ domain: 'catalog', signal: impatient.signal }));
  const patient = client.tokens.get({ domain: 'catalog' });
  await until('the server is asked', () => server.requests.length === 1);
  impatient.abort();
  t.deepEqual(await aborted, { code: 'aborted', message: 'the request was aborted by the caller' });
  gate.resolve();
  t.regex((await patient).accessToken, /^token-/);
  t.is(server.requests.length, 1);
});

test('the request ends when every caller has gone, and the next caller makes a new one', async (t) => {
  const closed = Promise.withResolvers<void>();
  const { client, server } = await clientWorld(t, (_, response) => void response.on('close', closed.resolve));
  const impatient = new AbortController();
  const calls = [1, 2].map(() => failure(client.tokens.get({ domain: 'catalog', signal: impatient.signal })));
  await until('the server is asked', () => server.requests.length === 1);
  impatient.abort();
  t.deepEqual(
    (await Promise.all(calls)).map((error) => error['code']),
    ['aborted', 'aborted'],
  );
  await closed.promise;
  server.respond = tokenServer();
  t.regex((await client.tokens.get({ domain: 'catalog' })).accessToken, /^token-/);
});

test('a failure is not kept', async (t) => {
  const { client, server } = await clientWorld(t, (_, response) =>
    answer(response, 403, { code: 403, message: 'no role', error: 'invalid_scope', error_description: 'no role' }),
  );
  t.deepEqual(await failure(client.tokens.get({ domain: 'catalog' })), {
    code: 'refused',
    message: 'the server answered 403: no role',
    status: 403,
    serverCode: 403,
    serverMessage: 'no role',
    serverError: 'invalid_scope',
  });
  server.respond = tokenServer();
  t.regex((await client.tokens.get({ domain: 'catalog' })).accessToken, /^token-/);
});

test('keeps a bounded number of tokens and forgets the least used', async (t) => {
  const { server, connect } = await clientWorld(t, tokenServer());
  const client = connect({ tokenCacheSize: 2 });
  for (const domain of ['a', 'b', 'a', 'c', 'a']) await client.tokens.get({ domain });
  t.is(server.requests.length, 3);
  await client.tokens.get({ domain: 'b' });
  t.is(server.requests.length, 4);
});

test('an ID token comes with its access token, and is kept apart and not longer than an hour', async (t) => {
  const { client, server, clock } = await clientWorld(t, tokenServer());
  const first = await client.tokens.getId({ domain: 'catalog', service: 'api' });
  t.regex(first.idToken, /^id-/);
  t.is(new URLSearchParams(server.requests[0]?.body).get('scope'), 'catalog:domain openid catalog:service.api');
  const plain = await client.tokens.get({ domain: 'catalog' });
  t.not(plain.accessToken, first.accessToken);
  t.false('idToken' in plain);
  clock.advance(45 * minute);
  t.deepEqual(await client.tokens.getId({ domain: 'catalog', service: 'api' }), first);
  clock.advance(1);
  t.notDeepEqual(await client.tokens.getId({ domain: 'catalog', service: 'api' }), first);
});

const malformed: readonly { note: string; body: unknown; message: string }[] = [
  { note: 'a list', body: [], message: 'the answer is malformed: it is not an object' },
  {
    note: 'no token',
    body: { token_type: 'Bearer', expires_in: 1 },
    message: 'the answer is malformed: `access_token` must be a string',
  },
  {
    note: 'a life that is not a number',
    body: { access_token: 'x', token_type: 'Bearer', expires_in: '7200' },
    message: 'the answer is malformed: `expires_in` must be a positive number of seconds',
  },
  {
    note: 'another kind of token',
    body: { access_token: 'x', token_type: 'mac', expires_in: 1 },
    message: 'the answer is malformed: `token_type` is not Bearer',
  },
];

for (const { note, body, message } of malformed) {
  test(`refuses a malformed answer: ${note}`, async (t) => {
    const { client } = await clientWorld(t, (_, response) => answer(response, 200, body));
    t.deepEqual(await failure(client.tokens.get({ domain: 'catalog' })), { code: 'response-malformed', message });
  });
}

const badQueries: readonly { note: string; query: TokenQuery; message: string }[] = [
  { note: 'domain', query: { domain: 'a b' }, message: `domain ${isNoName('DomainName')}` },
  { note: 'role', query: { domain: 'a', roles: ['x:y'] }, message: `roles ${isNoName('RoleName')}` },
  {
    note: 'life',
    query: { domain: 'a', expiresIn: -1 },
    message: 'expiresIn must be an integer from 0 to 2147483647',
  },
];

for (const { note, query, message } of badQueries) {
  test(`sends nothing for a bad ${note}`, async (t) => {
    const { client, server } = await clientWorld(t, tokenServer());
    t.deepEqual(await failure(client.tokens.get(query)), { code: 'invalid-argument', message });
    t.is(server.requests.length, 0);
  });
}
