import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { type DomainSketch, domainContent } from '#support/domain-sketch';
import { ecPair } from '#support/requests';
import { saveDomain } from '#support/save-domain';
import { caller, form, startServer, wholeFile } from '#support/start-server';

/* Look-ups of Athenz clients, and the members of the metadata that they require. */

const file = wholeFile();
const clock = new FakeClock(systemClock.now());
const pem = ecPair().publicKey.export({ type: 'spki', format: 'pem' }).toString();
const media = {
  name: 'media',
  services: { player: { V1: pem }, studio: {}, off: false },
} as const satisfies DomainSketch;
const catalog: DomainSketch = {
  name: 'catalog',
  services: { api: {} },
  roles: {
    'api.tenant.media.reader': ['user.joe', 'media.player'],
    'api.tenant.media.video.res_group.a.b.writer': ['user.joe'],
    'api.tenant.nowhere.reader': ['user.joe'],
    'api.tenant.reader': ['user.joe'],
    reader: ['user.joe'],
    'x.tenant.dark.reader': ['user.joe'],
  },
};
const others: readonly DomainSketch[] = [catalog, { name: 'media.video' }, { name: 'dark', enabled: false }];
const athenz = await startServer(file, { clock, domains: others, options: { profile: 'athenz' } });
const signet = await startServer(file, { clock, domains: [...others, media], pki: athenz.pki });
const saveMedia = async (hosts: readonly string[]) => {
  const services = domainContent(media).services.map((service) =>
    service.name === 'player' ? { ...service, hosts, endpoint: 'https://films.example/confirm' } : service,
  );
  await athenz.store.change({ actor: 'test' }, (transaction) =>
    saveDomain(transaction, { ...domainContent(media), services }),
  );
  await athenz.running.refresh();
};
await saveMedia(['h1.example', 'h2.example']);

const player = caller(file, athenz, await athenz.pki.identity('media.player'));
const nobody = caller(file, athenz);
const plain = caller(file, signet, await athenz.pki.identity('media.player'));

test.after.always(() => file.end());

test('everybody is told that the server answers, without a certificate', async (t) => {
  const answer = await nobody('/status');
  t.deepEqual([answer.status, answer.body], [200, { code: 200, message: 'OK' }]);
  t.is((await player('/status')).status, 200);
  t.is((await caller(t, signet)('/status')).status, 401);
});

test('the services of a domain, and one with its keys', async (t) => {
  t.deepEqual((await player('/domain/MEDIA/service')).body, { names: ['off', 'player', 'studio'] });
  const key = Buffer.from(pem).toString('base64').replaceAll('+', '.').replaceAll('/', '_').replaceAll('=', '-');
  t.deepEqual((await player('/domain/media/service/Player')).body, {
    name: 'media.player',
    publicKeys: [{ key, id: 'V1' }],
    providerEndpoint: 'https://films.example/confirm',
    modified: formatTimestamp(clock.now()),
    hosts: ['h1.example', 'h2.example'],
  });
  t.deepEqual((await player('/domain/media/service/studio')).body, {
    name: 'media.studio',
    publicKeys: [],
    modified: formatTimestamp(clock.now()),
    hosts: [],
  });
});

test.serial('the services of a host, as they are now', async (t) => {
  const on = async (host: string) => (await player(`/host/${host}/services`)).body;
  t.deepEqual(await on('h1.example'), { host: 'h1.example', names: ['media.player'] });
  t.deepEqual(await on('H3.example'), { host: 'h3.example', names: [] });
  await saveMedia(['h1.example', 'H3.example', 'h2.example']);
  t.deepEqual(await on('h3.example'), { host: 'h3.example', names: ['media.player'] });
  await saveMedia(['h1.example', 'h2.example']);
  t.deepEqual(await on('h3.example'), { host: 'h3.example', names: [] });
});

test('the tenants of a provider by the roles of a user', async (t) => {
  const of = async (user: string) => (await player(`/providerdomain/catalog/user/${user}`)).body;
  t.deepEqual(await of('user.joe'), { tenantDomainNames: ['media', 'media.video'] });
  t.deepEqual(await of('media.player'), { tenantDomainNames: ['media'] });
  t.deepEqual(await of('user.jane'), { tenantDomainNames: [] });
});

test('no role takes a certificate, and the roots have the name that agents ask for', async (t) => {
  t.deepEqual((await player('/role/cert?principal=media.player')).body, { roles: [] });
  t.deepEqual((await player('/role/cert')).body, { roles: [] });
  t.is((await player('/role/cert?principal=a%20b')).status, 400);
  const roots = (await player('/cacerts/roots')).body as { readonly certs: string };
  t.deepEqual((await player('/cacerts/athenz')).body, { name: 'athenz', certs: roots.certs });
});

for (const [path, status] of [
  ['/domain/nowhere/service', 404],
  ['/domain/dark/service', 404],
  ['/domain/a%20b/service', 400],
  ['/domain/media/service/ghost', 404],
  ['/domain/nowhere/service/player', 404],
  ['/domain/media/service/a%20b', 400],
  ['/providerdomain/nowhere/user/user.joe', 404],
  ['/providerdomain/catalog/user/a%20b', 400],
] as const) {
  test(`${path} is ${status}`, async (t) => {
    const answer = await player(path);
    t.deepEqual([answer.status, Object.keys(answer.body as object)], [status, ['code', 'message']]);
  });
}

for (const path of [
  '/domain/media/service',
  '/domain/media/service/player',
  '/host/h1.example/services',
  '/providerdomain/catalog/user/user.joe',
  '/role/cert',
  '/cacerts/athenz',
]) {
  test(`${path} takes a caller, and is of the profile athenz`, async (t) => {
    t.is((await nobody(path)).status, 401);
    t.is((await plain(path)).status, 404);
  });
}

test('introspection is refused as a server refuses it that was not set up for it', async (t) => {
  const answer = await player('/oauth2/introspect', form({ token: 'x' }));
  t.deepEqual(answer.body, { code: 400, message: 'introspection is not supported' });
  t.is((await nobody('/oauth2/introspect', form({ token: 'x' }))).status, 401);
});

test('both documents of metadata have what the clients of Athenz insist on', async (t) => {
  for (const name of ['openid-configuration', 'oauth-authorization-server']) {
    const body = (await nobody(`/.well-known/${name}`)).body as Record<string, unknown>;
    const texts = ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri', 'introspection_endpoint'];
    for (const member of texts) t.regex(String(body[member]), /^https:\/\/127.0.0.1:\d+\/zts\/v1/, member);
    const lists = [
      'response_types_supported',
      'subject_types_supported',
      'id_token_signing_alg_values_supported',
      'grant_types_supported',
      'token_endpoint_auth_signing_alg_values_supported',
    ];
    for (const member of lists) t.true(Array.isArray(body[member]), member);
    t.deepEqual(body['response_types_supported'], ['id_token', 'token', 'id_token token']);
  }
  const other = (await plain('/.well-known/openid-configuration')).body as object;
  t.false('authorization_endpoint' in other);
});
