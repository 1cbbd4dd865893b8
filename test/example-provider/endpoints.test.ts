import test from 'ava';
import { startProvider, type TestProvider } from '#support/start-provider';

async function editor(provider: TestProvider) {
  const as = provider.authority.certificate('media.studio');
  const token = await provider.authority.token({ domain: 'catalog', roles: ['reader', 'editor'], certificate: as });
  return { as, headers: { authorization: `Bearer ${token}` } };
}

/* Canonical form of each path: any other is unknown, so that the decision and the action concern the same thing. */
for (const path of [
  '/',
  '/nothing',
  '/movie/',
  '//movie',
  '/Movie',
  '/./movie',
  '/local/../movie',
  '/local/%2e%2e/movie',
  '/%6dovie',
  '/movie;x=1',
  '/movie%00',
  '/local',
  '/central-cert/movie/1',
]) {
  test(`${path} is unknown, with and without credentials`, async (t) => {
    const provider = await startProvider(t);
    for (const credentials of [{}, await editor(provider)]) {
      const answer = await provider.send({ path, ...credentials });
      t.deepEqual(
        { status: answer.status, body: answer.body },
        { status: 404, body: { code: 404, message: 'unknown endpoint' } },
      );
    }
  });
}

for (const method of ['POST', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND']) {
  test(`${method} /movie is not allowed`, async (t) => {
    const provider = await startProvider(t);
    const answer = await provider.send({ method, path: '/movie' });
    t.deepEqual(
      { status: answer.status, body: answer.body, allow: answer.headers['allow'] },
      {
        status: 405,
        body: { code: 405, message: 'method not allowed' },
        allow: 'GET, HEAD, PUT',
      },
    );
  });
}

test('what was put is what is got', async (t) => {
  const provider = await startProvider(t);
  const as = await editor(provider);
  const put = await provider.send({ method: 'PUT', path: '/movie', ...as, body: '{"titles":["Solaris"]}' });
  t.deepEqual({ status: put.status, body: put.body }, { status: 200, body: { titles: ['Solaris'] } });
  const got = await provider.send({ path: '/movie?a=b', ...as });
  t.deepEqual({ status: got.status, body: got.body }, { status: 200, body: { titles: ['Solaris'] } });
});

test('HEAD is what GET is, without the body, and needs the same rights', async (t) => {
  const provider = await startProvider(t);
  const as = await editor(provider);
  for (const path of ['/movie', '/local/series', '/healthz']) {
    const [got, head] = [await provider.send({ path, ...as }), await provider.send({ method: 'HEAD', path, ...as })];
    t.deepEqual({ status: head.status, body: head.body }, { status: 200, body: undefined });
    t.is(head.headers['content-length'], got.headers['content-length']);
    t.is(head.headers['content-type'], got.headers['content-type']);
  }
  const stranger = await provider.send({ method: 'HEAD', path: '/movie' });
  t.deepEqual([stranger.status, stranger.headers['www-authenticate']], [403, 'Bearer']);
  t.is((await provider.send({ method: 'HEAD', path: '/nothing', ...as })).status, 404);
});

for (const [path, vary] of [
  ['/movie', 'Svc-Role-Auth, Athenz-Role-Auth, Authorization'],
  ['/central-token/movie', 'svc-principal-auth, athenz-principal-auth'],
  ['/nothing', undefined],
] as const) {
  test(`${path} is not for caches, and says which headers decide`, async (t) => {
    const provider = await startProvider(t);
    for (const credentials of [{}, await editor(provider)]) {
      const { headers } = await provider.send({ path, ...credentials });
      t.deepEqual([headers['cache-control'], headers['vary']], ['no-store', vary]);
    }
  });
}

for (const [name, body, status, message] of [
  ['no JSON', '{', 400, 'the body is not JSON'],
  ['a list', '[]', 400, 'the body must be a JSON object'],
  ['too much', `{"a":"${'x'.repeat(70_000)}"}`, 413, 'the body is larger than 65536 bytes'],
] as const) {
  test(`PUT /movie with ${name}`, async (t) => {
    const provider = await startProvider(t);
    const answer = await provider.send({ method: 'PUT', path: '/movie', ...(await editor(provider)), body });
    t.deepEqual({ status: answer.status, body: answer.body }, { status, body: { code: status, message } });
  });
}

test('a writer without the role changes nothing', async (t) => {
  const provider = await startProvider(t);
  const as = provider.authority.certificate('media.player');
  const token = await provider.authority.token({ domain: 'catalog', roles: ['reader'], certificate: as });
  const credentials = { as, headers: { authorization: `Bearer ${token}` } };
  t.is((await provider.send({ method: 'PUT', path: '/movie', ...credentials, body: '{}' })).status, 403);
  t.deepEqual((await provider.send({ path: '/movie', ...credentials })).body, { titles: ['The Third Man', 'Ran'] });
});

test('GET /healthz answers everyone', async (t) => {
  const provider = await startProvider(t);
  const answer = await provider.send({ path: '/healthz' });
  t.is(answer.status, 200);
  t.like(answer.body, { status: 'ok' });
  t.is((await provider.send({ method: 'PUT', path: '/healthz' })).status, 405);
});

test('GET /healthz is 503 while there is no policy of the domain that is served', async (t) => {
  const provider = await startProvider(t, undefined, { catalogue: [{ name: 'p', assertions: [] }] });
  const { status, body } = await provider.send({ path: '/healthz' });
  t.is(status, 503);
  const message = 'there is no policy of the served domain `catalog`: did you mean `catalogue`?';
  t.like(body, { status: 'no-policy', policy: { ok: false } });
  t.like(body, { policy: { domains: [{ domain: 'catalog', error: { code: 'policy-missing', message } }] } });
});
