import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { field, instanceWorld, json, keyPem } from '#support/instance-world';
import { isNoName } from '#support/invalid-name';
import { openssl } from '#support/openssl';
import { ecPair, type RequestShape, requestPem } from '#support/requests';
import { type CallOptions, form, wholeFile } from '#support/start-server';

const file = wholeFile();
const world = await instanceWorld(file);
test.after.always(() => file.end());
const player = async (path: string, options: CallOptions) => (await world.identity('media.player'))(path, options);

function request(shape: RequestShape = {}): string {
  return requestPem(ecPair(), { commonNames: ['catalog:role.reader'], ...shape });
}

test('the holder of a role gets a certificate for it, in both forms', async (t) => {
  const pair = ecPair();
  const csr = requestPem(pair, { commonNames: ['catalog:role.reader'] });
  const { status, body } = await player('/domain/catalog/role/reader/token', json({ csr }));
  t.is(status, 200);
  const certificate = String(field(body, 'token'));
  const leaf = new X509Certificate(certificate);
  t.is(field(body, 'expiryTime'), leaf.validToDate.getTime() / 1000);
  t.is(leaf.subject, 'CN=catalog:role.reader');
  t.is(leaf.subjectAltName, 'URI:spiffe://signet.test/ns/catalog/ra/reader');
  t.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.2']);
  t.true(Math.abs(leaf.validToDate.getTime() - leaf.validFromDate.getTime() - (30 * 86_400 + 3600) * 1000) < 2000);
  writeFileSync(join(world.folder, 'role.pem'), certificate);
  const checked = await openssl(
    world.folder,
    'verify',
    '-x509_strict',
    '-purpose',
    'sslclient',
    '-CAfile',
    'bundle.pem',
    '-untrusted',
    'role.pem',
    'role.pem',
  );
  t.is(checked.output, 'role.pem: OK\n');
  t.like(await world.store.certificates.find(leaf.serialNumber.toLowerCase()), {
    kind: 'role',
    state: 'issued',
    subject: 'catalog:role.reader',
    holder: 'media.player',
  });

  const modern = await player('/rolecert', json({ csr, expiryTime: 600 }));
  t.is(modern.status, 200);
  const short = new X509Certificate(String(field(modern.body, 'x509Certificate')));
  t.true(Math.abs(short.validToDate.getTime() - short.validFromDate.getTime() - 4_200_000) < 2000);

  const asRole = world.as({ certificate, key: keyPem(pair) });
  const refused = { code: 403, message: 'a role certificate is not a service identity' };
  const token = await asRole('/oauth2/token', form({ grant_type: 'client_credentials', scope: 'catalog:domain' }));
  t.is(token.status, 403);
  const attempts = [
    await asRole('/domain/catalog/role/reader/token', json({ csr })),
    await asRole('/rolecert', json({ csr })),
    await asRole('/instance', json({})),
    await asRole('/instance/media/player/refresh', json({ csr })),
    await asRole('/instance/sys.auth.server/media/player/i-1', json({ csr })),
    await asRole('/instance/sys.auth.server/media/player/i-1', { method: 'DELETE' }),
    await asRole('/instance/sys.auth.server/media/player/i-1/token'),
  ];
  for (const { status: answered, body: said } of attempts) {
    t.is(answered, 403);
    t.like(said, refused);
  }
});

const refusals: readonly (readonly [
  name: string,
  path: string,
  body: () => unknown,
  status: number,
  message: RegExp | string,
])[] = [
  [
    'another common name',
    '/domain/catalog/role/reader/token',
    () => ({ csr: request({ commonNames: ['catalog:role.dbreader'] }) }),
    400,
    'csr common name must be `catalog:role.reader`',
  ],
  [
    'a role that the caller does not hold',
    '/domain/catalog/role/dbreader/token',
    () => ({ csr: request({ commonNames: ['catalog:role.dbreader'] }) }),
    403,
    /^principal has no access/,
  ],
  [
    'a role that does not exist',
    '/domain/catalog/role/ghost/token',
    () => ({ csr: request({ commonNames: ['catalog:role.ghost'] }) }),
    403,
    /^principal has no access/,
  ],
  [
    'an unknown domain',
    '/domain/nowhere/role/reader/token',
    () => ({ csr: request({ commonNames: ['nowhere:role.reader'] }) }),
    404,
    'domain `nowhere` does not exist',
  ],
  [
    'a role that is not a name',
    '/domain/catalog/role/rea%20der/token',
    () => ({ csr: request() }),
    400,
    `roleName ${isNoName('RoleName')}`,
  ],
  ['no request', '/domain/catalog/role/reader/token', () => ({}), 400, '`csr` is required'],
  [
    'a negative life',
    '/domain/catalog/role/reader/token',
    () => ({ csr: request(), expiryTime: -1 }),
    400,
    /^`expiryTime`/,
  ],
  [
    'a principal that the caller is not',
    '/rolecert',
    () => ({ csr: request({ altNames: [['email', 'media.admin@signet.test']] }) }),
    400,
    /^csr email name/,
  ],
  [
    'a proxy',
    '/rolecert',
    () => ({ csr: request(), proxyForPrincipal: 'media.admin' }),
    403,
    'role certificates are given to their holder only',
  ],
  [
    'a common name that is a service',
    '/rolecert',
    () => ({ csr: request({ commonNames: ['media.player'] }) }),
    400,
    'csr common name must be `<domain>:role.<role>`',
  ],
  [
    'a common name with two roles',
    '/rolecert',
    () => ({ csr: request({ commonNames: ['catalog:role.a:role.b'] }) }),
    400,
    'csr common name must be `<domain>:role.<role>`',
  ],
  [
    'a DNS name',
    '/rolecert',
    () => ({ csr: request({ altNames: [['dns', 'api.catalog.signet.test']] }) }),
    400,
    /not for role certificates$/,
  ],
];
for (const [name, path, body, status, message] of refusals) {
  test(`refused: ${name}`, async (t) => {
    const answer = await player(path, json(body()));
    t.is(answer.status, status);
    const said = String(field(answer.body, 'message'));
    if (typeof message === 'string') t.is(said, message);
    else t.regex(said, message);
  });
}

test('the holder of a role whose name ends like another one gets no certificate for that one', async (t) => {
  const studio = await world.identity('media.studio');
  t.is((await studio('/rolecert', json({ csr: request() }))).status, 403);
  t.is((await studio('/rolecert', json({ csr: request({ commonNames: ['catalog:role.dbreader'] }) }))).status, 200);
});

test('a life of a billion seconds ends after thirty days', async (t) => {
  const { body } = await player('/rolecert', json({ csr: request(), expiryTime: 1_000_000_000 }));
  const leaf = new X509Certificate(String(field(body, 'x509Certificate')));
  t.true(leaf.validToDate.getTime() - leaf.validFromDate.getTime() <= (30 * 86_400 + 3600) * 1000);
});
