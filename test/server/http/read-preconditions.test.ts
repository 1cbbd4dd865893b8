import test from 'ava';
import { operatorsDomain } from '#support/operators';
import { caller, startServer, wholeFile } from '#support/start-server';

const file = wholeFile();
const server = await startServer(file, {
  domains: [operatorsDomain, { name: 'media', services: { player: {} }, roles: { reader: ['media.player'] } }],
});
const operator = caller(file, server, await server.pki.identity('sys.auth.operator'));
test.after.always(() => file.end());

const strong = '/oauth2/keys';
const weak = '/domain/media/policy/signed';
const none = '/access/read?resource=media:film';

/** `TAG` stands for the tag of the answer. */
const cases: readonly (readonly [path: string, ifMatch: string, status: number])[] = [
  [strong, 'TAG', 200],
  [strong, '"x", TAG', 200],
  [strong, '*', 200],
  [strong, '"x"', 412],
  [strong, 'W/TAG', 412],
  [strong, 'nonsense', 412],
  [strong, '', 412],
  // No tag of a bundle promises the same bytes: each process signs for itself.
  [weak, 'TAG', 412],
  [weak, '*', 200],
  [none, '*', 200],
  [none, '"x"', 412],
  ['^/management/v1/domains/media/roles/reader', 'TAG', 200],
  ['^/management/v1/domains/media/roles/reader', '"x"', 412],
];

for (const [path, ifMatch, status] of cases) {
  test(`${status} for ${path} if it matches ${ifMatch}`, async (t) => {
    const tag = String((await operator(path)).headers['etag'] ?? '');
    for (const method of ['GET', 'HEAD']) {
      const answer = await operator(path, { method, headers: { 'if-match': ifMatch.replace('TAG', tag) } });
      t.is(answer.status, status, method);
      if (status !== 412) continue;
      t.is(answer.headers['etag'], undefined);
      if (method === 'GET') t.like(answer.body, { code: 412 });
    }
  });
}

for (const [path, matching] of [
  [strong, 'TAG'],
  [weak, '*'],
] as const) {
  test(`a tag that does not match comes before one that the caller has: ${path}`, async (t) => {
    const tag = String((await operator(path)).headers['etag']);
    const ask = (ifMatch: string) => operator(path, { headers: { 'if-match': ifMatch, 'if-none-match': tag } });
    const refused = await ask('"x"');
    t.is(refused.status, 412);
    t.like(refused.body, { code: 412 });
    t.is(refused.headers['etag'], undefined);
    t.is((await ask(matching.replace('TAG', tag))).status, 304);
  });
}

test('what is not found, or refused, stays so whatever it should match', async (t) => {
  const headers = { 'if-match': '"x"' };
  t.is((await operator('/nothing', { headers })).status, 404);
  t.is((await operator('/domain/nothing/policy/signed', { headers })).status, 404);
  t.is((await caller(t, server)(strong, { headers })).status, 401);
});

test('strangers and tenants are told the status alone, operators the state', async (t) => {
  const tenant = caller(t, server, await server.pki.identity('media.player'));
  const expired = caller(
    t,
    server,
    await server.pki.odd({ subject: 'CN=sys.auth.operator', notAfter: 1_700_000_000_000 }),
  );
  for (const who of [caller(t, server), tenant, expired]) {
    const { status, text } = await who('/readyz');
    t.deepEqual([status, text], [200, '{"status":"ready"}']);
  }
  const { body } = await operator('^/readyz');
  t.deepEqual(Object.keys(Object(body)).sort(), [
    'certificate',
    'issuer',
    'keys',
    'revocationLists',
    'snapshot',
    'status',
    'store',
  ]);
});
