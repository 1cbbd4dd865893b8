import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { systemClock } from '@signet/policy-engine/clock';
import test from 'ava';
import { FakeClock } from '#support/clock';
import type { DomainSketch } from '#support/domain-sketch';
import { createPki, type OddCertificate } from '#support/pki';
import { caller, form, startServer, wholeFile } from '#support/start-server';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

const file = wholeFile();
const day = 86_400_000;
const domains: readonly DomainSketch[] = [
  { name: 'catalog', roles: { reader: ['media.player'] } },
  { name: 'media', services: { player: {}, gone: false } },
  { name: 'dark', enabled: false, services: { one: {} } },
];
const server = await startServer(file, { domains });
const foreign = await createPki();
test.after.always(() => file.end());

const now = systemClock.now();
const odd: readonly (readonly [name: string, certificate: OddCertificate, message: string])[] = [
  [
    'expired',
    { subject: 'CN=media.player', notBefore: now - 2 * day, notAfter: now - 1000 },
    'client certificate is not valid: it has expired, renew it',
  ],
  [
    'not yet valid',
    { subject: 'CN=media.player', notBefore: now + day / 2 },
    'client certificate is not valid: it is not valid yet, check the clocks',
  ],
  [
    'self-signed',
    { subject: 'CN=media.player', selfSigned: true },
    'client certificate is not valid: it was not issued by a trusted authority',
  ],
  [
    'only for servers',
    { subject: 'CN=media.player', usages: ['1.3.6.1.5.5.7.3.1'] },
    'client certificate is not valid: it, or its issuer, is not for client authentication',
  ],
  ['without a usage', { subject: 'CN=media.player', usages: 'none' }, 'client certificate names no principal'],
  ['of an authority', { subject: 'CN=media.player', isAuthority: true }, 'client certificate names no principal'],
  ['without a common name', { subject: 'O=media.player' }, 'client certificate names no principal'],
  [
    'with two common names',
    { subject: [{ CN: ['media.player'] }, { CN: ['media.studio'] }] },
    'client certificate names no principal',
  ],
  [
    'with the same common name twice',
    { subject: 'CN=media.player,CN=media.player' },
    'client certificate names no principal',
  ],
  [
    'with two common names in one part',
    { subject: [{ CN: ['media.player', 'media.studio'] }] },
    'client certificate names no principal',
  ],
  ['with NUL in its name', { subject: [{ CN: ['media.player\0.evil'] }] }, 'client certificate names no principal'],
  [
    'with a line break in its name',
    { subject: [{ CN: ['x\nCN=media.player'] }] },
    'client certificate names no principal',
  ],
  ['with a comma in its name', { subject: [{ CN: ['media.player,CN=x'] }] }, 'client certificate names no principal'],
  ['with no dot in its name', { subject: 'CN=player' }, 'client certificate names no principal'],
  ['with an empty domain', { subject: 'CN=.player' }, 'client certificate names no principal'],
  ['with an empty service', { subject: 'CN=media.' }, 'client certificate names no principal'],
  ['of a group', { subject: 'CN=media:group.all' }, 'client certificate names no principal'],
  ['of a role without a name', { subject: 'CN=media:role.' }, 'client certificate names no principal'],
  [
    'of a disabled service',
    { subject: 'CN=media.gone' },
    'client certificate names no enabled service: its domain must have the service, enabled',
  ],
  [
    'of a service that does not exist',
    { subject: 'CN=media.nobody' },
    'client certificate names no enabled service: its domain must have the service, enabled',
  ],
  [
    'of a disabled domain',
    { subject: 'CN=dark.one' },
    'client certificate names no enabled service: its domain must have the service, enabled',
  ],
  [
    'of an unknown domain',
    { subject: 'CN=nowhere.one' },
    'client certificate names no enabled service: its domain must have the service, enabled',
  ],
  [
    'of a role of a disabled domain',
    { subject: 'CN=dark:role.reader' },
    'client certificate names no enabled service: its domain must have the service, enabled',
  ],
  [
    'that looks like a user of a user',
    { subject: 'CN=user.joe.player' },
    'client certificate names no enabled service: its domain must have the service, enabled',
  ],
];

for (const [name, certificate, message] of odd) {
  test(`401: a certificate ${name}`, async (t) => {
    const call = caller(t, server, await server.pki.odd(certificate));
    const answer = await call('/oauth2/keys');
    t.deepEqual([answer.status, answer.body], [401, { code: 401, message }]);
    t.false(server.log.some((line) => line['principal'] === 'media.player' && line['status'] === 401));
  });
}

test('401: a certificate of another authority with the right name', async (t) => {
  const answer = await caller(t, server, await foreign.identity('media.player'))('/oauth2/keys');
  t.deepEqual(
    [answer.status, answer.body],
    [401, { code: 401, message: 'client certificate is not valid: it was not issued by a trusted authority' }],
  );
});

function leafOf(certificate: string): string {
  return certificate.slice(0, certificate.indexOf('-----END CERTIFICATE-----') + 26);
}

test('200: a leaf alone whose issuer is one of ours; of another authority it is told what is missing', async (t) => {
  const { certificate, key } = await server.pki.identity('media.player');
  t.is((await caller(t, server, { certificate: leafOf(certificate), key })('/oauth2/keys')).status, 200);
  const other = await foreign.identity('media.player');
  const alone = await caller(t, server, { certificate: leafOf(other.certificate), key: other.key })('/oauth2/keys');
  const message =
    'client certificate is not valid: its issuer is not known here, send the intermediate certificate with it';
  t.deepEqual([alone.status, alone.body], [401, { code: 401, message }]);
});

test('401: an issuer of ours is no root, whose clients are taken without one that is', async (t) => {
  const roots = join(temporaryFolder(t), 'roots.pem');
  writeFileSync(roots, foreign.bundle);
  const options = { 'tls.clientCa': roots, 'certificates.roots': 'bundle.pem' };
  const apart = await startServer(t, { domains, options });
  const { certificate, key } = await apart.pki.identity('media.player');
  for (const sent of [certificate, leafOf(certificate)]) {
    t.is((await caller(t, apart, { certificate: sent, key })('/oauth2/keys')).status, 401);
  }
  t.is((await caller(t, apart, await foreign.identity('media.player'))('/oauth2/keys')).status, 200);
});

test('an issuer that takes the place of another is known with the next connection, and only with a root', async (t) => {
  const next = await createPki();
  const options = { 'certificates.reloadIntervalMs': 100 };
  const replaced = await startServer(t, { domains, options });
  const at = (name: string) => join(replaced.folder, name);
  const { certificate, key } = await next.identity('media.player');
  const ask = async () => {
    const call = caller(t, replaced, { certificate: leafOf(certificate), key });
    const { status } = await call('/oauth2/keys');
    call.agent.destroy();
    return status;
  };
  writeFileSync(at('bundle.pem'), replaced.pki.bundle + next.bundle);
  const isReload = ({ msg }: Readonly<Record<string, unknown>>) => msg === 'TLS files taken into use';
  await until('the root is known', () => replaced.log.some(isReload));
  t.is(await ask(), 401);
  const { length } = replaced.log.filter(isReload);
  writeFileSync(at('issuer.key.pem'), next.issuer.key);
  writeFileSync(at('issuer.cert.pem'), next.issuer.certificate);
  await until('the new issuer is known', async () => (await ask()) === 200);
  t.is(replaced.log.filter(isReload).length, length, 'the TLS files are the same');
});

test('capital letters in the name are folded', async (t) => {
  const call = caller(t, server, await server.pki.odd({ subject: 'CN=Media.PLAYER' }));
  t.is((await call('/oauth2/token', form({ grant_type: 'client_credentials', scope: 'catalog:domain' }))).status, 200);
});

test('a kept-alive connection ends with its certificate, and with its service', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const own = await startServer(t, { clock, domains });
  const player = await own.pki.identity('media.player', 1);
  const ends = new X509Certificate(player.certificate).validToDate.getTime();
  const call = caller(t, own, player);
  t.is((await call('/oauth2/keys')).status, 200);
  await own.save({ name: 'media', services: { player: false } });
  t.deepEqual((await call('/oauth2/keys')).body, {
    code: 401,
    message: 'client certificate names no enabled service: its domain must have the service, enabled',
  });
  await own.save({ name: 'media', services: { player: {} } });
  t.is((await call('/oauth2/keys')).status, 200);
  await own.save({ name: 'media', enabled: false, services: { player: {} } });
  t.is((await call('/oauth2/keys')).status, 401);
  await own.save({ name: 'media', services: { player: {} } });
  clock.set(ends - 1000);
  t.is((await call('/oauth2/keys')).status, 200);
  clock.set(ends + 1000);
  t.deepEqual((await call('/oauth2/keys')).body, {
    code: 401,
    message: 'client certificate is not valid now: it has expired, renew it',
  });
  clock.set(now - 2 * day);
  t.is((await call('/oauth2/keys')).status, 401);
});

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`no session is resumed over ${version}`, async (t) => {
    const { certificate: cert, key } = await server.pki.identity('media.player');
    const { hostname: host, port } = new URL(server.baseUrl);
    const options = {
      host,
      port: Number(port),
      cert,
      key,
      ca: server.pki.bundle,
      minVersion: version,
      maxVersion: version,
    };
    const session = await new Promise<Buffer | undefined>((resolve, reject) => {
      const first = connect(options, () =>
        first.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
      );
      let last: Buffer | undefined;
      first.on('session', (ticket) => {
        last = ticket;
      });
      first.on('data', () => undefined);
      first.on('error', reject);
      first.on('close', () => resolve(last ?? first.getSession()));
    });
    const reused = await new Promise<boolean>((resolve, reject) => {
      const second = connect({ ...options, ...(session !== undefined && { session }) }, () => {
        resolve(second.isSessionReused());
        second.destroy();
      });
      second.on('error', reject);
    });
    t.false(reused);
  });
}

test('TLS 1.1 is refused', async (t) => {
  const { hostname: host, port } = new URL(server.baseUrl);
  const options = {
    host,
    port: Number(port),
    ca: server.pki.bundle,
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT:@SECLEVEL=0',
  } as const;
  const error = await new Promise<Error>((resolve, reject) => {
    const socket = connect(options, () => reject(new Error('connected')));
    socket.on('error', resolve);
  });
  t.regex(error.message, /protocol version|unsupported protocol/);
});

test('health and readiness need no certificate, everything else does', async (t) => {
  const call = caller(t, server);
  for (const path of ['^/healthz', '/healthz', '^/readyz', '/readyz']) t.is((await call(path)).status, 200, path);
  for (const path of [
    '/oauth2/keys',
    '/.well-known/openid-configuration',
    '/access/read',
    '/nothing',
    '^/',
    '^*',
    '^/metrics',
  ]) {
    t.is((await call(path)).status, 401, path);
  }
});

test('anonymousKeys opens keys and metadata, nothing more', async (t) => {
  const own = await startServer(t, { options: { anonymousKeys: true } });
  const call = caller(t, own);
  for (const path of [
    '/oauth2/keys',
    '/.well-known/openid-configuration',
    '^/.well-known/oauth-authorization-server/v1',
  ]) {
    t.is((await call(path)).status, 200, path);
  }
  t.is((await call('/oauth2/token', form({}))).status, 401);
  t.is((await call('/domain/catalog/policy/signed')).status, 401);
});
