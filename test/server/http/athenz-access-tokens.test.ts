import { systemClock, toDate } from '@signet/policy-engine/clock';
import { certificateThumbprint } from '@signet/policy-engine/token';
import type { JwkList } from '@signet/policy-engine/wire';
import test from 'ava';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { FakeClock } from '#support/clock';
import type { DomainSketch } from '#support/domain-sketch';
import { field, json, keyPem } from '#support/instance-world';
import { principalToken } from '#support/principal-token';
import { ecPair, type RequestedName, requestPem } from '#support/requests';
import { type Answer, caller, form, startServer, wholeFile } from '#support/start-server';

/* Access tokens as clients of Athenz ask for them: parameters that change what a token means, and role certificates as callers. */

const file = wholeFile();
const clock = new FakeClock(systemClock.now());
const pair = ecPair();
const pem = pair.publicKey.export({ format: 'pem', type: 'spki' }).toString();
const domains: readonly DomainSketch[] = [
  {
    name: 'catalog',
    services: { api: {} },
    roles: { reader: ['media.player', 'media.studio', 'media.gone', 'media.again'], editor: ['media.player'] },
  },
  {
    name: 'media',
    services: { player: { 0: pem }, studio: {}, gone: {}, again: {} },
    roles: { reader: ['media.studio'] },
  },
];
const athenz = await startServer(file, { clock, domains, options: { profile: 'athenz' } });
const signet = await startServer(file, { clock, domains, pki: athenz.pki });
const identity = await athenz.pki.identity('media.player');
const player = caller(file, athenz, identity);

const scope = 'catalog:role.reader';
const ask = (fields: Readonly<Record<string, string>>) => form({ grant_type: 'client_credentials', scope, ...fields });

async function claimsOf(answer: Answer) {
  if (answer.status !== 200) throw new Error(answer.text);
  const { keys } = (await player('/oauth2/keys?rfc=true')).body as JwkList;
  const set = createLocalJWKSet({ keys: keys.map((key) => ({ ...key })) });
  const token = String(field(answer.body, 'access_token'));
  return (await jwtVerify(token, set, { currentDate: toDate(clock.now()) })).payload;
}

/** A certificate for `catalog:role.reader`, by the server, that names its holder unless other names are asked for. */
async function roleCertificate(holder: string, names?: readonly RequestedName[]) {
  const own = ecPair();
  const altNames = names ?? [
    ['uri', 'spiffe://catalog/ra/reader'] as const,
    ['uri', `athenz://principal/${holder}`] as const,
  ];
  const csr = requestPem(own, { commonNames: [scope], altNames });
  const asker = caller(file, athenz, await athenz.pki.identity(holder));
  const answer = await asker('/rolecert', json({ csr }));
  if (answer.status !== 200) throw new Error(answer.text);
  const certificate = String(field(answer.body, 'x509Certificate'));
  return { certificate, key: keyPem(own), thumbprint: certificateThumbprint(certificate) };
}
const ofPlayer = await roleCertificate('media.player');
const ofStudio = await roleCertificate('media.studio');
const ofGone = await roleCertificate('media.gone');
const ofAgain = await roleCertificate('media.again');
const nameless = await roleCertificate('media.player', [['uri', 'spiffe://catalog/ra/reader']]);
test.after.always(() => file.end());

test('the audience of a token for one role is the role where that is asked for', async (t) => {
  const of = async (fields: Readonly<Record<string, string>>) =>
    (await claimsOf(await player('/oauth2/token', ask(fields)))).aud;
  t.is(await of({ role_in_aud_claim: 'true' }), 'catalog:reader');
  t.is(await of({ role_in_aud_claim: 'false' }), 'catalog');
  t.is(await of({ role_in_aud_claim: 'true', scope: 'catalog:domain' }), 'catalog', 'two roles');
  t.is(await of({ role_in_aud_claim: 'true', scope: 'CATALOG:ROLE.READER' }), 'catalog:reader');
});

test('proxies stand in the token beside its certificate, and in none that is bound to nothing', async (t) => {
  const proxies = 'spiffe://a.b/ns/x,spiffe://a.b/ns/y';
  const cnf = (await claimsOf(await player('/oauth2/token', ask({ proxy_principal_spiffe_uris: proxies }))))['cnf'];
  t.deepEqual(cnf, {
    'x5t#S256': certificateThumbprint(identity.certificate),
    'proxy-principals#spiffe': proxies.split(','),
  });
  const asked = ask({ proxy_principal_spiffe_uris: proxies });
  const token = principalToken({ now: clock.now(), key: pair.privateKey });
  const answer = await caller(t, athenz)('/oauth2/token', {
    ...asked,
    headers: { ...asked.headers, 'athenz-principal-auth': token },
  });
  t.is(answer.status, 400);
  t.is(field(answer.body, 'error'), 'invalid_request');
});

for (const [profile, server] of [
  ['athenz', athenz],
  ['signet', signet],
] as const) {
  const call = caller(file, server, identity);
  const told = (answer: Answer) => [
    answer.status,
    field(answer.body, 'error') ?? 'none',
    field(answer.body, 'message'),
    field(answer.body, 'access_token'),
  ];

  test(`${profile}: a token that would be another one than asked for is refused`, async (t) => {
    t.is((await call('/oauth2/token', ask({}))).status, 200);
    t.is((await call('/oauth2/token?something=else', ask({}))).status, 200);
    for (const name of [
      'actor',
      'audience',
      'authorization_details',
      'proxy_for_principal',
      'request',
      'request_uri',
    ]) {
      const refused = [400, 'invalid_request', `\`${name}\` is not supported`, undefined];
      t.deepEqual(told(await call('/oauth2/token', ask({ [name]: 'media.studio' }))), refused);
      t.deepEqual(told(await call(`/oauth2/token?${name}=media.studio`, ask({}))), refused, 'in the query');
    }
    const [status, error] = told(await call('/oauth2/token?resource=https://films.example', ask({})));
    t.deepEqual([status, error], [400, 'invalid_target']);
  });

  test(`${profile}: a token that would be bound to the key of a proof is refused`, async (t) => {
    const asked = ask({});
    const answer = await call('/oauth2/token', { ...asked, headers: { ...asked.headers, dpop: 'e30.e30.sig' } });
    const message = '`DPoP` is not supported: tokens are bound to the client certificate';
    t.deepEqual(told(answer), [400, 'invalid_request', message, undefined]);
  });
}

test('no other token of the profile is given for a parameter or a proof without effect either', async (t) => {
  const idToken = '/oauth2/auth?response_type=id_token&client_id=catalog.api&scope=openid&nonce=n&output=json';
  t.is((await player(idToken)).status, 200);
  for (const name of ['audience', 'authorization_details', 'request', 'resource']) {
    const { status, text } = await player(`${idToken}&${name}=x`);
    t.deepEqual([status, text.includes('is not supported')], [400, true], text);
  }
  for (const path of [idToken, '/domain/catalog/token']) {
    t.is((await player(path, { headers: { dpop: 'e30.e30.sig' } })).status, 400, path);
  }
});

test('a role certificate gets a token in the name of its holder, for its role, bound to it', async (t) => {
  const call = caller(t, athenz, ofPlayer);
  const claims = await claimsOf(await call('/oauth2/token', ask({ client_id: 'media.player' })));
  t.like(claims, { sub: 'media.player', client_id: 'media.player', aud: 'catalog', scp: ['reader'] });
  t.deepEqual(claims['cnf'], { 'x5t#S256': ofPlayer.thumbprint });
  // All that the holder has is the role of the certificate.
  t.is((await caller(t, athenz, ofStudio)('/oauth2/token', ask({ scope: 'catalog:domain' }))).status, 200);
});

for (const [note, fields] of [
  ['all roles, of which there are others', { scope: 'catalog:domain' }],
  ['another role', { scope: 'catalog:role.editor' }],
  ['another role beside its own', { scope: 'catalog:role.reader catalog:role.editor' }],
  ['an ID token', { scope: 'catalog:role.reader openid catalog:service.api' }],
] as const) {
  test(`a role certificate gets no token for more than its role: ${note}`, async (t) => {
    const answer = await caller(t, athenz, ofPlayer)('/oauth2/token', ask(fields));
    t.deepEqual(
      [answer.status, field(answer.body, 'message')],
      [403, 'a role certificate gets access tokens for its own role only'],
    );
  });
}

test('a role of the same name in another domain is another role', async (t) => {
  const call = caller(t, athenz, ofStudio);
  t.is((await call('/oauth2/token', ask({ scope: 'media:role.reader' }))).status, 403);
});

test('a role certificate gets nothing in the name of another, or without a holder', async (t) => {
  const other = await caller(t, athenz, ofPlayer)('/oauth2/token', ask({ client_id: 'media.studio' }));
  t.is(other.status, 401);
  t.is((await caller(t, athenz, nameless)('/oauth2/token', ask({}))).status, 403);
  t.is((await caller(t, signet, ofPlayer)('/oauth2/token', ask({}))).status, 403, 'profile signet');
});

test('a role certificate is no identity anywhere else', async (t) => {
  const call = caller(t, athenz, ofPlayer);
  const csr = requestPem(ecPair(), { commonNames: [scope] });
  t.is((await call('/rolecert', json({ csr }))).status, 403);
  t.is((await call('/domain/catalog/token?role=reader')).status, 403);
  t.is((await call('/access/read?resource=catalog:x')).status, 403);
  t.is((await call('/instance/media/player/refresh', json({ csr }))).status, 403);
});

test.serial(
  'a role certificate gets nothing once its holder has lost the role, is disabled, or is another of the name',
  async (t) => {
    const status = async (own: typeof ofGone) => (await caller(t, athenz, own)('/oauth2/token', ask({}))).status;
    t.deepEqual([await status(ofGone), await status(ofAgain)], [200, 200]);
    const [catalog, media] = domains;
    if (catalog === undefined || media === undefined) return t.fail();
    await athenz.save({ ...media, services: { ...media.services, gone: false } });
    t.is(await status(ofGone), 401);
    const { again: _, ...services } = media.services ?? {};
    await athenz.save({ ...media, services });
    clock.advance(2000);
    await athenz.save(media);
    t.is(await status(ofAgain), 401, 'another service of the same name');
    await athenz.save({ ...catalog, roles: { ...catalog.roles, reader: ['media.player'] } });
    t.is(await status(ofStudio), 403);
    await athenz.save(catalog);
  },
);
