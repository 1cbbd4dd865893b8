import test from 'ava';
import { isNoName } from '#support/invalid-name';
import { answer, type Respond } from './support/tls-server.ts';
import { clientWorld, failure } from './support/world.ts';

const granted: Respond = (_, response) => answer(response, 200, { granted: true });

const checks = [
  {
    note: 'the caller itself',
    query: { action: 'Read', resource: 'catalog:movie' },
    url: '/v1/access/read?resource=catalog%3Amovie',
    header: undefined,
  },
  {
    note: 'another principal',
    query: { action: 'read', resource: 'catalog:movie', principal: 'Media.Player' },
    url: '/v1/access/read?resource=catalog%3Amovie&principal=media.player',
    header: undefined,
  },
  {
    note: 'a trust domain',
    query: { action: 'assume_role', resource: 'a:role.b', trustDomain: 'media' },
    url: '/v1/access/assume_role?resource=a%3Arole.b&domain=media',
    header: undefined,
  },
  {
    note: 'a principal token that is passed on',
    query: { action: 'read', resource: 'catalog:a&b=c d', principalToken: 'v=S1;d=media;n=player;s=abc-' },
    url: '/v1/access/read?resource=catalog%3Aa%26b%3Dc+d',
    header: 'v=S1;d=media;n=player;s=abc-',
  },
] as const;

for (const { note, query, url, header } of checks) {
  test(`checks access for ${note}`, async (t) => {
    const { client, server } = await clientWorld(t, granted);
    t.true(await client.access.check(query));
    t.like(server.requests[0], { method: 'GET', url, caller: 'media.player' });
    t.is(server.requests[0]?.headers['svc-principal-auth'], header);
  });
}

test('a server of the profile athenz is sent principal tokens in the header of Athenz', async (t) => {
  const { client, server } = await clientWorld(t, granted, { profile: 'athenz' });
  t.true(await client.access.check({ action: 'read', resource: 'a:b', principalToken: 'v=S1;s=abc-' }));
  const { headers } = server.requests[0] ?? {};
  t.deepEqual([headers?.['athenz-principal-auth'], headers?.['svc-principal-auth']], ['v=S1;s=abc-', undefined]);
  for (const profile of ['toString', 'other']) {
    await t.throwsAsync(clientWorld(t, granted, { profile: profile as 'athenz' }), {
      message: 'profile must be `signet` or `athenz`',
    });
  }
});

test('a principal token cannot smuggle a header', async (t) => {
  const { client, server } = await clientWorld(t, granted);
  for (const principalToken of ['a\r\nx: y', '', 'ä', 'a b']) {
    t.deepEqual(await failure(client.access.check({ action: 'read', resource: 'a:b', principalToken })), {
      code: 'invalid-argument',
      message: 'principalToken holds characters that no header may hold',
    });
  }
  t.is(server.requests.length, 0);
});

test('asks many questions, a request for each hundred', async (t) => {
  const { client, server } = await clientWorld(t, (request, response) => {
    const { questions } = JSON.parse(request.body) as { questions: { resource: string }[] };
    const answers = questions.map(({ resource }) =>
      resource === 'b:c' ? { granted: false, error: { code: 404, message: 'no' } } : { granted: resource === 'a:1' },
    );
    answer(response, 200, { answers });
  });
  const many = Array.from({ length: 101 }, (_, index) => ({ action: 'Read', resource: `a:${index}` }));
  t.deepEqual(
    await client.access.checkMany(many),
    many.map((_, index) => ({ granted: index === 1 })),
  );
  const other = { action: 'read', resource: 'b:c', principal: 'Media.Player', trustDomain: 'b' };
  t.deepEqual(await client.access.checkMany([other]), [{ granted: false, error: { code: 404, message: 'no' } }]);
  t.deepEqual(
    server.requests.map(({ method, url, body }) => [method, url, JSON.parse(body).questions.length]),
    [100, 1, 1].map((count) => ['POST', '/v1/access-checks', count]),
  );
  t.is(server.requests[1]?.body, '{"questions":[{"action":"read","resource":"a:100"}]}');
  t.is(
    server.requests[2]?.body,
    '{"questions":[{"action":"read","resource":"b:c","principal":"media.player","domain":"b"}]}',
  );
  t.deepEqual(await client.access.checkMany([]), []);
  t.deepEqual(await failure(client.access.checkMany([many[0] ?? other, { ...other, action: 'a b' }])), {
    code: 'invalid-argument',
    message: `queries[1].action ${isNoName('ActionName')}`,
  });
});

for (const answers of [undefined, [], [null], [{}], [{ granted: 'true' }], [{ granted: true, error: { code: 404 } }]]) {
  test(`an answer to many questions is malformed: ${JSON.stringify(answers)}`, async (t) => {
    const { client } = await clientWorld(t, (_, response) => answer(response, 200, { answers }));
    t.is((await failure(client.access.checkMany([{ action: 'read', resource: 'a:b' }])))['code'], 'response-malformed');
  });
}

test('lists roles and asks for membership', async (t) => {
  const { client, server } = await clientWorld(t, (request, response) =>
    answer(response, 200, request.url.includes('/role/') ? { granted: false } : { roles: ['reader', 'editor'] }),
  );
  t.deepEqual(await client.access.roles({ domain: 'Catalog', principal: 'media.player' }), ['reader', 'editor']);
  t.false(await client.access.inRole({ domain: 'catalog', role: 'Admin', principal: 'media:group.all' }));
  t.deepEqual(
    server.requests.map((request) => request.url),
    [
      '/v1/access/domain/catalog/principal/media.player',
      '/v1/access/domain/catalog/role/admin/principal/media%3Agroup.all',
    ],
  );
});

test('fetches a bundle, and again only when it changed', async (t) => {
  const { client, server } = await clientWorld(t, (request, response) => {
    if (request.headers['if-none-match'] === '"v1"') response.writeHead(304, { etag: '"v1"' }).end();
    else answer(response, 200, { payload: 'x' }, { etag: '"v1"' });
  });
  const first = await client.bundles.fetch('Catalog');
  t.deepEqual(first, { kind: 'changed', bytes: Buffer.from('{"payload":"x"}'), etag: '"v1"' });
  t.deepEqual(await client.bundles.fetch('catalog', { etag: '"v1"' }), { kind: 'unchanged' });
  t.like(await client.bundles.fetch('catalog', { etag: '"v0"' }), { kind: 'changed' });
  t.deepEqual(
    server.requests.map(({ method, url, headers }) => [method, url, headers['if-none-match']]),
    [
      ['GET', '/v1/domain/catalog/policy/signed', undefined],
      ['GET', '/v1/domain/catalog/policy/signed', '"v1"'],
      ['GET', '/v1/domain/catalog/policy/signed', '"v0"'],
    ],
  );
  t.is((await failure(client.bundles.fetch('catalog', { etag: 'a\r\nb' })))['code'], 'invalid-argument');
});

test('a bundle may be larger than other answers, up to its own limit', async (t) => {
  const { connect } = await clientWorld(t, (_, response) => void response.end('x'.repeat(2_000_000)));
  t.like(await connect().bundles.fetch('catalog'), { kind: 'changed', etag: undefined });
  t.deepEqual(await failure(connect({ maxBundleBytes: 1_999_999 }).bundles.fetch('catalog')), {
    code: 'response-too-large',
    message: 'the answer is larger than 1999999 bytes',
  });
});

const ec = { kty: 'EC', kid: 'a', alg: 'ES256', use: 'sig', crv: 'P-256', x: 'eA', y: 'eQ' };

test('reads the published keys and passes over those of unknown kinds', async (t) => {
  const { client, server } = await clientWorld(t, (_, response) =>
    answer(
      response,
      200,
      {
        keys: [
          { ...ec, purpose: 'bundle', extra: 1 },
          { kty: 'OKP', kid: 'b' },
          { ...ec, kid: '' },
          { ...ec, use: 'enc' },
          { ...ec, key_ops: ['encrypt'] },
          { ...ec, purpose: 'else' },
          null,
          { kty: 'RSA', kid: 'r', n: 'bg', e: 'AQAB' },
        ],
      },
      { 'cache-control': 'public, max-age=300' },
    ),
  );
  t.deepEqual(await client.keys(), {
    keys: [
      { ...ec, purpose: 'bundle' },
      { kty: 'RSA', kid: 'r', alg: 'RS256', use: 'sig', n: 'bg', e: 'AQAB' },
    ],
    maxAgeSeconds: 300,
    leftOut: [
      'key `b` is of an unknown type (`kty`)',
      'key 3 of the set has no `kid`',
      'key `a` is not to verify with (`use`, `key_ops`)',
      'key `a` is not to verify with (`use`, `key_ops`)',
      'key `a` has an unknown `purpose`',
      'key 7 of the set is not an object',
      'key `r` has fewer than 2048 bits (`n`)',
    ],
  });
  t.is(server.requests[0]?.url, '/v1/oauth2/keys?rfc=true');
});

const refusedSets: readonly (readonly [note: string, keys: readonly object[], problem: string])[] = [
  ['that gives a private key away', [ec, { ...ec, d: 'eg' }], 'a key is not public'],
  ['of more keys than anybody has', [ec, ...Array(1000).fill({})], 'it has more than 1000 keys'],
];
for (const [note, keys, problem] of refusedSets) {
  test(`a key set ${note} is refused as a whole`, async (t) => {
    const { client } = await clientWorld(t, (_, response) => answer(response, 200, { keys }));
    await t.throwsAsync(client.keys(), {
      code: 'response-malformed',
      message: `the answer is malformed: key set is malformed: ${problem}`,
    } as never);
  });
}

test('reads the issuer from the metadata document', async (t) => {
  const { client, server } = await clientWorld(t, (_, response) => answer(response, 200, { issuer: 'https://me/v1' }));
  t.deepEqual(await client.metadata(), { issuer: 'https://me/v1' });
  t.is(server.requests[0]?.url, '/v1/.well-known/oauth-authorization-server');
});

test('a base URL may end with a slash', async (t) => {
  const { server, connect } = await clientWorld(t, granted);
  t.true(await connect({ baseUrl: `${server.baseUrl}//` }).access.check({ action: 'read', resource: 'a:b' }));
  t.is(server.requests[0]?.url, '/v1/access/read?resource=a%3Ab');
});
