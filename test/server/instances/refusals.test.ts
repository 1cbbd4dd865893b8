import test from 'ava';
import { field, instanceNames, instanceRequest, instanceWorld, json, register } from '#support/instance-world';
import { isNoName } from '#support/invalid-name';
import { ecPair, type RequestedName, requestPem } from '#support/requests';
import { type CallerOptions, wholeFile } from '#support/start-server';

const file = wholeFile();
const world = await instanceWorld(file);
test.after.always(() => file.end());

const csr = instanceRequest('r-1');
const proper = { provider: 'sys.auth.server', domain: 'media', service: 'player', attestationData: 'x', csr };
const noService = 'provider is not a valid ServiceName: a provider is a service, `domain.service`';
const noToken =
  'attestationData is not a valid join token for this instance: it was used, has expired or belongs to another one; `signet instance token` makes one';

const registrations: readonly (readonly [name: string, body: unknown, status: number, message: string])[] = [
  ['a token that was never given', proper, 403, noToken],
  ['a token that only looks like one', { ...proper, attestationData: 'signet-join-AAAA' }, 403, noToken],
  ['no body', null, 400, 'the body is missing or not of its type'],
  ['a list', [], 400, 'the body is missing or not of its type'],
  ['no provider', { ...proper, provider: undefined }, 400, '`provider` is missing or not of its type'],
  ['a provider that is a user', { ...proper, provider: 'joe' }, 400, noService],
  ['a provider that is a group', { ...proper, provider: 'a:group.b' }, 400, noService],
  ['a domain that is not a name', { ...proper, domain: 'me dia' }, 400, `domain ${isNoName('DomainName')}`],
  ['a service of two names', { ...proper, service: 'a.b' }, 400, `service ${isNoName('ServiceName')}`],
  ['no attestation', { ...proper, attestationData: '' }, 400, '`attestationData` is required'],
  ['no request', { ...proper, csr: '' }, 400, '`csr` is required'],
  ['a request that is a number', { ...proper, csr: 7 }, 400, '`csr` is missing or not of its type'],
  ['a negative life', { ...proper, expiryTime: -1 }, 400, '`expiryTime` is missing or not of its type'],
  ['a life with a fraction', { ...proper, expiryTime: 1.5 }, 400, '`expiryTime` is missing or not of its type'],
  ['a life beyond 32 bits', { ...proper, expiryTime: 2 ** 31 }, 400, '`expiryTime` is too large'],
  ['a request as long as a book', { ...proper, csr: 'x'.repeat(70_000) }, 400, '`csr` is too large'],
  ['a life that is a text', { ...proper, expiryTime: '60' }, 400, '`expiryTime` is missing or not of its type'],
  ['a request that is none', { ...proper, csr: 'hello' }, 400, 'csr must be one PKCS #10 request in PEM form'],
  ['an unknown domain', { ...proper, domain: 'nowhere' }, 404, 'domain `nowhere` does not exist'],
  [
    'a service that is not registered',
    { ...proper, service: 'ghost' },
    400,
    'service `ghost` is not registered in domain `media`',
  ],
  [
    'a service that is disabled',
    { ...proper, service: 'off' },
    400,
    'service `off` is not registered in domain `media`',
  ],
  [
    'a provider without any right',
    { ...proper, provider: 'media.admin' },
    403,
    'provider `media.admin` is not authorized to launch instances: it needs `launch` on `sys.auth:instance`',
  ],
  [
    'a provider that only the tenant allows',
    { ...proper, provider: 'prov.lazy' },
    403,
    'provider `prov.lazy` is not authorized to launch instances: it needs `launch` on `sys.auth:instance`',
  ],
  [
    'a provider that only the system allows',
    { ...proper, provider: 'prov.eager' },
    403,
    'provider `prov.eager` is not authorized to launch `media.player` instances: it needs `launch` on `media:service.player`',
  ],
  [
    'a service that its domain lets nobody launch',
    { ...proper, service: 'studio' },
    403,
    'provider `sys.auth.server` is not authorized to launch `media.studio` instances: it needs `launch` on `media:service.studio`',
  ],
  [
    'a provider without an endpoint',
    { ...proper, provider: 'prov.cloud' },
    400,
    'provider `prov.cloud` has no endpoint to ask',
  ],
  ['more than was asked for', { ...proper, token: true, role: 'admin', subject: 'CN=root' }, 403, noToken],
  [
    'a host name nobody vouches for',
    { ...proper, hostname: 'h.example.com' },
    400,
    'hostname `h.example.com` is not one that provider `sys.auth.server` may vouch for',
  ],
];
for (const [name, body, status, message] of registrations) {
  test(`registration refused: ${name}`, async (t) => {
    const answer = await world.as()('/instance', json(body));
    t.deepEqual([answer.status, answer.body], [status, { code: status, message }]);
  });
}

const names: readonly (readonly [name: string, altNames: readonly RequestedName[], message: RegExp])[] = [
  [
    'another service',
    [
      ['uri', 'spiffe://signet.test/ns/default/sa/media.studio'],
      ['dns', 'r-1.instanceid.signet.test'],
    ],
    /^csr uri name .* is not `spiffe/,
  ],
  ['a second SPIFFE id', [...instanceNames('r-1'), ['uri', 'spiffe://media/sa/player']], /^csr uri name/],
  ['a wildcard', [...instanceNames('r-1'), ['dns', '*.player.media.signet.test']], /may hold$/],
  ['an address of somebody else', [...instanceNames('r-1'), ['ip', Buffer.of(10, 1, 2, 3)]], /not the address/],
  ['an email address', [...instanceNames('r-1'), ['email', 'a@b.c']], /not for services$/],
  [
    'a suffix of a provider that is another one',
    [...instanceNames('r-1'), ['dns', 'player.media.evilprov.example.com']],
    /may hold: provider `sys\.auth\.server` needs `launch` on `sys\.auth:dns\.evilprov\.example\.com`$/,
  ],
];
for (const [name, altNames, message] of names) {
  test(`registration refused, names: ${name}`, async (t) => {
    const attestationData = await world.token('r-1');
    const body = { ...proper, attestationData, csr: requestPem(ecPair(), { commonNames: ['media.player'], altNames }) };
    const answer = await world.as()('/instance', json(body));
    t.is(answer.status, 400);
    t.regex(String(field(answer.body, 'message')), message);
    const retry = await world.as()('/instance', json({ ...proper, attestationData }));
    t.is(retry.status, 201, 'the token was not spent');
  });
}

test('a token is for one instance only', async (t) => {
  const attestationData = await world.token('r-2');
  const other = await world.as()('/instance', json({ ...proper, attestationData }));
  t.deepEqual(other.body, { code: 403, message: noToken });
});

test('a certificate that comes with a registration must be valid', async (t) => {
  const cases: readonly (readonly [who: CallerOptions, status: number])[] = [
    [await world.pki.identity('media.player'), 403],
    [await world.pki.odd({ subject: 'CN=media.player', selfSigned: true }), 401],
    [
      await world.pki.odd({ subject: 'CN=media.player', notAfter: 1_700_000_000_000, notBefore: 1_690_000_000_000 }),
      401,
    ],
    [await world.pki.odd({ subject: 'CN=media.ghost' }), 401],
    [await world.pki.odd({ subject: 'CN=catalog:role.reader' }), 403],
  ];
  for (const [who, status] of cases) t.is((await world.as(who)('/instance', json(proper))).status, status);
});

for (const [method, path, status] of [
  ['PUT', '/instance', 405],
  ['GET', '/instance', 401],
  ['POST', '/instance/sys.auth.server/media/player/r-1', 401],
  ['DELETE', '/instance/sys.auth.server/media/player/r-1', 401],
  ['POST', '/instance/media/player/refresh', 401],
  ['GET', '/instance/sys.auth.server/media/player/r-1/token', 401],
  ['POST', '/domain/catalog/role/reader/token', 401],
  ['POST', '/rolecert', 401],
  ['GET', '/crl', 401],
] as const) {
  test(`nobody: ${method} ${path}`, async (t) => {
    const answer = await world.as()(path, method === 'GET' || method === 'DELETE' ? { method } : json(proper, method));
    t.is(answer.status, method === 'PUT' ? 401 : status);
    t.is(field(answer.body, 'code'), answer.status);
  });
}

test('a body over a mebibyte is refused, one of half of it is read', async (t) => {
  const big = (size: number) => ({ ...json({ ...proper, attestationData: 'x'.repeat(size) }) });
  t.is((await world.as()('/instance', big(1_100_000))).status, 413);
  t.is((await world.as()('/instance', big(200_000))).status, 403);
  const small = await (await world.identity('media.player'))(
    '/domain/catalog/policy/signed',
    json({ x: 'y'.repeat(100_000) }),
  );
  t.is(small.status, 413);
});

test('tokens are given to who may register instances only', async (t) => {
  const path = '/instance/sys.auth.server/media/player/r-3/token';
  t.deepEqual((await (await world.identity('media.player'))(path)).body, {
    code: 403,
    message:
      'principal `media.player` may not register instances of `media.player`: it needs `update` on `media:service.player`',
  });
  const admin = await world.identity('media.admin');
  t.deepEqual((await admin('/instance/prov.cloud/media/player/r-3/token')).body, {
    code: 400,
    message: 'provider `prov.cloud` gives no registration tokens',
  });
  t.is((await admin('/instance/sys.auth.server/nowhere/player/r-3/token')).status, 404);
  const { body } = await admin(path);
  t.like(body, { provider: 'sys.auth.server', domain: 'media', service: 'player', attributes: { instanceId: 'r-3' } });
});

test('a refresh without anything to refresh, and one of an instance that is gone', async (t) => {
  const instance = await register(world, 'r-4');
  const call = world.as(instance);
  const path = '/instance/sys.auth.server/media/player/r-4';
  t.deepEqual((await call(path, json({}))).body, { code: 400, message: '`csr` or `ssh` is required' });
  t.deepEqual((await call(path, json({ csr: instanceRequest('r-5') }))).body, {
    code: 400,
    message: 'csr instance id `r-5` is not `r-4`',
  });
  t.is((await call('/instance/sys.auth.server/nowhere/player/r-4', json({ csr }))).status, 404);
  t.is((await call('/instance/prov.cloud/media/player/r-4', json({ csr: instanceRequest('r-4') }))).status, 403);
});

test('no attestation, request or token is in the log', (t) => {
  const text = JSON.stringify(world.log);
  t.false(/signet-join-|CERTIFICATE REQUEST|BEGIN/.test(text));
});
