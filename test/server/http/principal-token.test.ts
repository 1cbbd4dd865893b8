import { generateKeyPairSync } from 'node:crypto';
import { systemClock } from '@signet/policy-engine/clock';
import test from 'ava';
import { FakeClock } from '#support/clock';
import type { DomainSketch } from '#support/domain-sketch';
import { send } from '#support/management-world';
import { principalToken } from '#support/principal-token';
import { type Caller, type CallOptions, caller, form, startServer, wholeFile } from '#support/start-server';

/* Replay of a principal token by a service that received it: it proves the caller, and must not make its holder that principal. */

const file = wholeFile();
const clock = new FakeClock(systemClock.now());
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = pair.publicKey.export({ format: 'pem', type: 'spki' }).toString();
const domains: readonly DomainSketch[] = [
  {
    name: 'sys.auth',
    roles: { admin: ['sys.auth.operator'] },
    services: { operator: { 0: pem } },
    policies: { administration: [['ALLOW', 'admin', '*', '*']] },
  },
  {
    name: 'catalog',
    roles: { admin: ['sys.auth.operator'], reader: ['sys.auth.operator'] },
    services: { api: {} },
    policies: { readers: [['ALLOW', 'reader', 'read', 'movie']] },
  },
  { name: 'shelf', roles: { admin: ['sys.auth.operator'] } },
  { name: 'media', services: { guest: {} } },
];
const server = await startServer(file, { clock, domains });
const athenz = await startServer(file, { clock, domains, pki: server.pki, options: { profile: 'athenz' } });
const guest = await server.pki.identity('media.guest');
const operator = await server.pki.identity('sys.auth.operator');
const role = await server.pki.odd({ subject: 'CN=catalog:role.reader' });
test.after.always(() => file.end());

const asGuest = caller(file, server, guest);
const asOperator = caller(file, server, operator);
const asRole = caller(file, server, role);
const athenzGuest = caller(file, athenz, guest);
const athenzOperator = caller(file, athenz, operator);
const athenzNobody = caller(file, athenz);

const mismatch = 'the client certificate must name the principal of the principal token here';
const old = 'the principal token must be issued within the last 300 seconds here';
const invalid = 'principal token is not valid';

/** Token of the operator that was issued `ago` seconds before. */
function tokenOf(ago = 0): string {
  const issued = Math.floor(clock.now() / 1000) - ago;
  return principalToken({
    now: clock.now(),
    key: pair.privateKey,
    fields: { d: 'sys.auth', n: 'operator', t: String(issued) },
  });
}

function withToken(token: string, options: CallOptions = {}, header = 'svc-principal-auth'): CallOptions {
  return { ...options, headers: { ...options.headers, [header]: token } };
}

async function refused(call: Caller, path: string, options: CallOptions): Promise<string> {
  const { status, body } = await call(path, options);
  if (status !== 401) throw new Error(`${path}: ${status}`);
  return String((body as { readonly message: unknown }).message);
}

const management = '^/management/v1/domains';
const stored = async () =>
  JSON.stringify([await server.store.domainNames(), await server.store.audit({ limit: 100, subject: 'catalog' })]);

const changes: readonly (readonly [path: string, options: CallOptions])[] = [
  [management, send('POST', { domain: 'taken', admins: ['media.guest'] })],
  [`${management}/catalog/roles/admin/members/media.guest`, send('PUT', {})],
  [`${management}/catalog/roles/admin/members/media.guest?dryRun=true`, send('PUT', {})],
  [`${management}/catalog/roles/reader`, send('DELETE')],
];

for (const [path, options] of changes) {
  test(`signet: a token is no right to ${options.method} ${path}`, async (t) => {
    const before = await stored();
    for (const call of [asGuest, asRole]) t.is(await refused(call, path, withToken(tokenOf(), options)), mismatch);
    t.is(await stored(), before);
  });
}

test('signet: a change goes on where the certificate names the same principal, and not with a bad token', async (t) => {
  const path = `${management}/shelf/roles/auditor`;
  t.is((await asOperator(path, withToken(tokenOf(4000), send('PUT', {})))).status, 201);
  t.is(await refused(asOperator, path, withToken(`${tokenOf()}x`, send('PUT', {}))), invalid);
  const [record] = await server.store.audit({ limit: 1, subject: 'shelf' });
  t.is(record?.actor, 'sys.auth.operator');
});

test('signet: a token reads of the management API for five minutes after its issue', async (t) => {
  const path = `${management}/catalog/roles/admin/members`;
  t.is((await asGuest(path)).status, 403);
  for (const ago of [-300, 0, 300]) {
    t.is((await asGuest(path, withToken(tokenOf(ago)))).status, 200);
    t.is((await asGuest(path, withToken(tokenOf(ago), { method: 'HEAD' }))).status, 200);
  }
  t.is(await refused(asGuest, path, withToken(tokenOf(301))), old);
  t.is((await asOperator(path, withToken(tokenOf(301)))).status, 200);
});

test('signet: a token asks about access as long as it lives, on both paths', async (t) => {
  for (const path of ['/access/read?resource=catalog:movie', '^/management/v1/access/read?resource=catalog:movie']) {
    t.deepEqual((await asGuest(path)).body, { granted: false });
    t.deepEqual((await asGuest(path, withToken(tokenOf(86_400)))).body, { granted: true });
  }
  const roles = '/access/domain/catalog/principal/media.guest';
  t.deepEqual((await asGuest(roles, withToken(tokenOf()))).body, { roles: [] });
});

const elsewhere: readonly (readonly [path: string, options: CallOptions])[] = [
  ['/oauth2/token', form({ grant_type: 'client_credentials', scope: 'catalog:domain' })],
  ['/oauth2/keys', {}],
  ['/domain/catalog/policy/signed', {}],
  ['/domain/catalog/role/aws/creds', {}],
  ['/instance/sys.auth.server/catalog/api/i-1/token', {}],
  ['/instance/sys.auth.server/catalog/api/i-1', { method: 'DELETE' }],
  ['/instance/catalog/api/refresh', send('POST', { csr: 'x' })],
  ['/domain/catalog/role/reader/token', send('POST', { csr: 'x' })],
  ['/rolecert', send('POST', { csr: 'x' })],
  ['/sshcert', send('POST', {})],
  ['/sshcert/revoke', send('POST', { keyId: 'x' })],
];

for (const [path, options] of elsewhere) {
  test(`signet: a token counts for nothing at ${options.method ?? 'GET'} ${path}`, async (t) => {
    t.is(await refused(asGuest, path, withToken(tokenOf(), options)), mismatch);
    for (const header of ['athenz-principal-auth', 'svc-principal-auth']) {
      t.is(await refused(asGuest, path, withToken('nonsense', options, header)), invalid);
    }
    t.not((await asOperator(path, withToken(tokenOf(), options))).status, 401);
  });
}

const never = [
  ...changes,
  ...elsewhere.filter(([path]) => /^\/(instance|sshcert|rolecert|domain.*(creds|token)$)/.test(path)),
].filter(([path]) => path !== '/instance/catalog/api/refresh');

for (const [path, options] of never) {
  test(`athenz: a token counts for nothing at ${options.method ?? 'GET'} ${path}`, async (t) => {
    const before = JSON.stringify(await athenz.store.audit({ limit: 100 }));
    for (const header of ['athenz-principal-auth', 'svc-principal-auth']) {
      t.is(await refused(athenzGuest, path, withToken(tokenOf(), options, header)), mismatch);
      t.is(
        await refused(athenzNobody, path, withToken(tokenOf(), options, header)),
        'a client certificate is required',
      );
      t.is(await refused(athenzOperator, path, withToken('nonsense', options, header)), invalid);
    }
    t.is(JSON.stringify(await athenz.store.audit({ limit: 100 })), before);
  });
}

const reads: readonly (readonly [path: string, options: CallOptions, status: number])[] = [
  ['/access/read?resource=catalog:movie', {}, 200],
  ['/access/domain/catalog/role/reader/principal/sys.auth.operator', {}, 200],
  ['/oauth2/token', form({ grant_type: 'client_credentials', scope: 'catalog:domain' }), 200],
  ['//oauth2/token', form({ grant_type: 'client_credentials', scope: 'catalog:domain' }), 200],
  ['/domain/catalog/signed_policy_data', {}, 200],
  ['/domain/catalog/policy/signed', {}, 200],
  ['/domain/catalog/policy/signed', send('POST', {}), 200],
  ['/domain/sys.auth/service/operator/publickey/0', {}, 200],
  ['/cacerts/roots', {}, 200],
  ['/crl', {}, 200],
  [`${management}/catalog`, {}, 200],
];

for (const [path, options, status] of reads) {
  test(`athenz: a token alone, or beside the certificate of another, is enough at ${options.method ?? 'GET'} ${path}`, async (t) => {
    for (const header of ['athenz-principal-auth', 'svc-principal-auth']) {
      for (const call of [athenzNobody, athenzGuest]) {
        t.is((await call(path, withToken(tokenOf(), options, header))).status, status);
      }
      t.is(await refused(athenzGuest, path, withToken('nonsense', options, header)), invalid);
    }
  });
}

test('athenz: reads of the management API keep to the five minutes', async (t) => {
  t.is((await athenzNobody(`${management}/catalog`, withToken(tokenOf(300)))).status, 200);
  t.is(await refused(athenzNobody, `${management}/catalog`, withToken(tokenOf(301))), old);
});

test('athenz: a certificate that is presented must be valid, and two headers the same', async (t) => {
  const path = '/access/read?resource=catalog:movie';
  const stranger = caller(t, athenz, await server.pki.identity('media.stranger'));
  t.is(
    await refused(stranger, path, withToken(tokenOf())),
    'client certificate names no enabled service: its domain must have the service, enabled',
  );
  const token = tokenOf();
  const both = (other: string) => ({ headers: { 'svc-principal-auth': token, 'athenz-principal-auth': other } });
  t.is((await athenzGuest(path, both(token))).status, 200);
  t.is(await refused(athenzGuest, path, both(tokenOf(1))), invalid);
});

test('athenz: a token of the certificate holder gives an access token that is bound to the certificate', async (t) => {
  const asked = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });
  const claims = async (call: Caller) => {
    const { body } = await call('/oauth2/token', withToken(tokenOf(), asked));
    const [, payload = ''] = String((body as { readonly access_token: unknown }).access_token).split('.');
    return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
  };
  t.like(await claims(athenzOperator), { sub: 'sys.auth.operator' });
  t.true('cnf' in (await claims(athenzOperator)));
  // INVARIANT: nobody's token is bound to the certificate of another.
  t.false('cnf' in (await claims(athenzGuest)));
});
