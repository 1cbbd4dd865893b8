import { sign, X509Certificate } from 'node:crypto';
import { parseTimestamp, systemClock } from '@signet/policy-engine/clock';
import { element, sequence, set } from '@signet/policy-engine/internal/der';
import { oids } from '@signet/server/x509/oids';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import type { DomainSketch } from '#support/domain-sketch';
import { field, instanceDomains, keyPem } from '#support/instance-world';
import { type RawAnswer, rawExchange } from '#support/raw-exchange';
import { commonName, ecPair, type Pair, type RequestedName, requestPem } from '#support/requests';
import { type CallerOptions, startServer, wholeFile } from '#support/start-server';

/*
 * The requests of unmodified clients of Athenz as they were captured, byte for byte, and in each answer the members that the client cannot do
 * without: with one missing, empty or of another type its generated code fails.
 */

const file = wholeFile();
const clock = new FakeClock(systemClock.now());
const pair = ecPair();
const pem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const domains: readonly DomainSketch[] = [
  ...instanceDomains.filter(({ name }) => name !== 'media' && name !== 'catalog'),
  {
    name: 'media',
    services: { player: { 0: pem, V1: pem }, admin: {} },
    roles: { launchers: ['sys.auth.server'], admins: ['media.admin'] },
    policies: {
      instances: [
        ['ALLOW', 'launchers', 'launch', 'service.player'],
        ['ALLOW', 'admins', 'update', 'service.player'],
        ['ALLOW', 'admins', 'delete', 'instance.*'],
      ],
    },
  },
  {
    name: 'catalog',
    services: { api: {} },
    roles: { reader: ['media.player', 'user.joe'] },
    policies: { readers: [['ALLOW', 'reader', 'read', 'movie']] },
  },
];
const server = await startServer(file, { clock, domains, options: { profile: 'athenz' } });
const [player, admin] = [await server.pki.identity('media.player'), await server.pki.identity('media.admin')];
test.after.always(() => file.end());

const base = '/zts/v1';
const host = new URL(server.baseUrl).host;
/** An NToken with the fields in the order of the Go library. */
function token(k = '0'): string {
  const seconds = Math.floor(clock.now() / 1000);
  const text = `v=S1;d=media;n=player;k=${k};h=h1;a=00c0ffee;t=${seconds};e=${seconds + 3600}`;
  const signature = sign('sha256', Buffer.from(text), pair.privateKey).toString('base64');
  return `${text};s=${signature.replaceAll('+', '.').replaceAll('/', '_').replaceAll('=', '-')}`;
}

/** The head and body of Go's `net/http`. */
function go(method: string, path: string, body?: string, headers: readonly string[] = []): string {
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    'User-Agent: Go-http-client/1.1',
    ...length,
    ...headers,
    'Accept-Encoding: gzip',
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

const goForm = (path: string, body: string, more: readonly string[] = []) =>
  go('POST', path, body, [...more, 'Content-Type: application/x-www-form-urlencoded']);
const goJson = (path: string, body: unknown, more: readonly string[] = []) =>
  go('POST', path, JSON.stringify(body), [...more, 'Content-Type: application/json']);

/** The head of the generated Java client: a charset on every request with a body. */
function java(method: string, path: string, body?: unknown, headers: readonly string[] = []): string {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Accept: application/json',
    ...headers,
    ...(text === undefined
      ? []
      : ['Content-Type: application/json; charset=UTF-8', `Content-Length: ${Buffer.byteLength(text)}`]),
    `Host: ${host}`,
    'Connection: Keep-Alive',
    'User-Agent: Apache-HttpClient/5.4 (Java/21.0.2)',
    'Accept-Encoding: gzip, x-gzip, deflate',
  ];
  return `${lines.join('\r\n')}\r\n\r\n${text ?? ''}`;
}

/** The head of the Node library: a content type on `GET` as well. */
function node(path: string, headers: readonly string[] = []): string {
  const lines = [
    `GET ${path} HTTP/1.1`,
    'Accept: application/json, text/plain, */*',
    'Content-Type: application/json',
    ...headers,
    'User-Agent: axios/1.7.9',
    'Accept-Encoding: gzip, compress, deflate, br',
    `Host: ${host}`,
    'Connection: close',
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

const send = (request: string, who?: CallerOptions) => rawExchange(server, request, who);
const json = (answer: RawAnswer): unknown => JSON.parse(answer.text);

type Kind = 'text' | 'number' | 'boolean' | 'list' | 'texts' | 'object' | 'time';
const kinds: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string' && value !== '',
  number: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === 'boolean',
  list: Array.isArray,
  texts: (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  time: (value) =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(String(value)) && parseTimestamp(String(value)) !== undefined,
};

function hasMembers(t: ExecutionContext, value: unknown, members: Readonly<Record<string, Kind>>): void {
  for (const [name, kind] of Object.entries(members)) {
    t.true(kinds[kind](field(value, name)), `${name} must be ${kind}: ${JSON.stringify(field(value, name))}`);
  }
}

const accessToken = { access_token: 'text', token_type: 'text', expires_in: 'number', scope: 'text' } as const;
const idToken = {
  id_token: 'text',
  token_type: 'text',
  expiration_time: 'number',
  success: 'boolean',
  version: 'number',
} as const;
const roleToken = { token: 'text', expiryTime: 'number' } as const;
const jws = { payload: 'text', protected: 'text', signature: 'text', header: 'object' } as const;
const publicKey = { key: 'text', id: 'text' } as const;
const oauthConfig = {
  issuer: 'text',
  authorization_endpoint: 'text',
  token_endpoint: 'text',
  jwks_uri: 'text',
  response_types_supported: 'texts',
  subject_types_supported: 'texts',
  id_token_signing_alg_values_supported: 'texts',
  introspection_endpoint: 'text',
  grant_types_supported: 'texts',
  token_endpoint_auth_signing_alg_values_supported: 'texts',
} as const;
const resourceError = { code: 'number', message: 'text' } as const;

interface Replay {
  readonly note: string;
  readonly request: string;
  /** Default: the certificate of `media.player`. */
  readonly who?: CallerOptions;
  readonly status?: number;
  readonly members: Readonly<Record<string, Kind>>;
}

const nobody: CallerOptions = {};
const ntoken = `Athenz-Principal-Auth: ${token()}`;
const idQuery =
  'response_type=id_token&client_id=catalog.api&scope=openid+roles&nonce=n1&keyType=EC&fullArn=false&expiryTime=3600' +
  '&output=json&roleInAudClaim=false&allScopePresent=false';
const tokenPath = `${base}/oauth2/token`;
const grant = 'grant_type=client_credentials';

const replays: readonly Replay[] = [
  // The Go tools.
  { note: 'zts-accesstoken', request: goForm(tokenPath, `${grant}&scope=catalog%3Arole.reader`), members: accessToken },
  {
    note: 'zts-accesstoken, a domain',
    request: goForm(tokenPath, `${grant}&scope=catalog%3Adomain`),
    members: accessToken,
  },
  {
    note: 'zts-accesstoken -expire-time',
    request: goForm(tokenPath, `expires_in=1800&${grant}&scope=catalog%3Arole.reader`),
    members: accessToken,
  },
  {
    note: 'zts-accesstoken with an ID token',
    request: goForm(tokenPath, `${grant}&scope=catalog%3Arole.reader+openid+catalog%3Aservice.api`),
    members: { ...accessToken, id_token: 'text' },
  },
  {
    note: 'zts-accesstoken -proxy-principal-spiffe-uris',
    request: goForm(
      tokenPath,
      `${grant}&proxy_principal_spiffe_uris=spiffe%3A%2F%2Fmedia%2Fsa%2Fproxy&scope=catalog%3Arole.reader`,
    ),
    members: accessToken,
  },
  {
    note: 'zts-accesstoken -role-in-aud-claim -openid-issuer',
    request: goForm(tokenPath, `${grant}&openid_issuer=true&role_in_aud_claim=true&scope=catalog%3Arole.reader`),
    members: accessToken,
  },
  {
    note: 'zts-accesstoken -actor',
    request: goForm(tokenPath, `actor=media.admin&${grant}&scope=catalog%3Arole.reader`),
    status: 400,
    members: { ...resourceError, error: 'text', error_description: 'text' },
  },
  {
    note: 'zts-accesstoken -ntoken-file',
    request: goForm(tokenPath, `${grant}&scope=catalog%3Arole.reader`, [ntoken]),
    who: nobody,
    members: accessToken,
  },
  {
    note: 'zts-accesstoken, no role',
    request: goForm(tokenPath, `${grant}&scope=catalog%3Arole.none`),
    status: 403,
    members: resourceError,
  },
  {
    note: 'zts-accesstoken, no domain',
    request: goForm(tokenPath, `${grant}&scope=nowhere%3Adomain`),
    status: 404,
    members: resourceError,
  },
  {
    note: 'zts-accesstoken, base URL with a slash at its end',
    request: goForm(`${base}//oauth2/token`, `${grant}&scope=catalog%3Arole.reader`),
    members: accessToken,
  },
  { note: 'zts-roletoken', request: go('GET', `${base}/domain/catalog/token?role=reader`), members: roleToken },
  { note: 'zts-roletoken, all roles', request: go('GET', `${base}/domain/catalog/token`), members: roleToken },
  {
    note: 'zts-roletoken -expire-time',
    request: go('GET', `${base}/domain/catalog/token?minExpiryTime=1800&role=reader`),
    members: roleToken,
  },
  { note: 'zts-idtoken', request: go('GET', `${base}/oauth2/auth?${idQuery}`), members: idToken },
  // The Go library.
  {
    note: 'GetResourceAccess',
    request: go('GET', `${base}/access/read/catalog:movie`),
    members: { granted: 'boolean' },
  },
  {
    note: 'GetResourceAccessExt',
    request: go('GET', `${base}/access/read?resource=catalog%3Amovie`),
    members: { granted: 'boolean' },
  },
  {
    note: 'GetRoleAccess',
    request: go('GET', `${base}/access/domain/catalog/principal/joe`),
    members: { roles: 'texts' },
  },
  {
    note: 'GetAccess',
    request: go('GET', `${base}/access/domain/catalog/role/reader/principal/media.player`),
    members: { granted: 'boolean' },
  },
  {
    note: 'GetJWKList',
    request: go('GET', `${base}/oauth2/keys?rfc=true&service=zts`),
    who: nobody,
    members: { keys: 'list' },
  },
  {
    note: 'GetOpenIDConfig',
    request: go('GET', `${base}/.well-known/openid-configuration`),
    who: nobody,
    members: oauthConfig,
  },
  {
    note: 'GetOAuthConfig',
    request: go('GET', `${base}/.well-known/oauth-authorization-server`),
    who: nobody,
    members: oauthConfig,
  },
  {
    note: 'GetServiceIdentity',
    request: go('GET', `${base}/domain/media/service/player`),
    members: { name: 'text', publicKeys: 'list', modified: 'time', hosts: 'texts' },
  },
  { note: 'GetServiceIdentityList', request: go('GET', `${base}/domain/media/service`), members: { names: 'texts' } },
  {
    note: 'GetPublicKeyEntry',
    request: go('GET', `${base}/domain/media/service/player/publickey/0`),
    members: publicKey,
  },
  {
    note: 'GetStatus',
    request: go('GET', `${base}/status`),
    who: nobody,
    members: { code: 'number', message: 'text' },
  },
  {
    note: 'GetHostServices',
    request: go('GET', `${base}/host/h1/services`),
    members: { host: 'text', names: 'texts' },
  },
  {
    note: 'GetTenantDomains',
    request: go('GET', `${base}/providerdomain/catalog/user/user.joe`),
    members: { tenantDomainNames: 'texts' },
  },
  { note: 'GetRolesRequireRoleCert', request: go('GET', `${base}/role/cert`), members: { roles: 'texts' } },
  {
    note: 'GetCertificateAuthorityBundle',
    request: go('GET', `${base}/cacerts/athenz`),
    members: { name: 'text', certs: 'text' },
  },
  {
    note: 'PostIntrospectRequest',
    request: goForm(`${base}/oauth2/introspect`, 'token=abc'),
    status: 400,
    members: resourceError,
  },
  { note: 'GetInfo, which there is not', request: go('GET', `${base}/sys/info`), status: 404, members: resourceError },
  // The Java client, with nothing but a principal token.
  ...[
    ['getResourceAccess', '/access/read/catalog:movie', { granted: 'boolean' }],
    ['getRoleToken', '/domain/catalog/token?role=reader', roleToken],
    ['getServiceIdentity', '/domain/media/service/player', { name: 'text' }],
    ['getOpenIDConfig', '/.well-known/openid-configuration', oauthConfig],
    ['getJWKList', '/oauth2/keys?rfc=true', { keys: 'list' }],
  ].map(([note, path, members]) => ({
    note: `Java ${String(note)}`,
    request: java('GET', `${base}${String(path)}`, undefined, [ntoken]),
    who: nobody,
    members: members as Replay['members'],
  })),
  // The Node library, which asks for all roles whatever it was told, and writes the id of a key in lower case.
  {
    note: 'Node getRoleToken',
    request: node(`${base}/domain/catalog/token`, [`Athenz-Principal-Auth: ${token('v1')}`]),
    who: nobody,
    members: roleToken,
  },
  {
    note: 'Node getPublicKeyEntry',
    request: node(`${base}/domain/media/service/player/publickey/v1`, [ntoken]),
    who: nobody,
    members: publicKey,
  },
  {
    note: 'Node getDomainSignedPolicyData',
    request: node(`${base}/domain/catalog/signed_policy_data`, [ntoken]),
    who: nobody,
    members: { signedPolicyData: 'object', signature: 'text', keyId: 'text' },
  },
  // The policy updater.
  {
    note: 'zpu, no keys in athenz.conf',
    request: go('GET', `${base}/oauth2/keys?rfc=true`),
    members: { keys: 'list' },
  },
];

for (const { note, request, who = player, status = 200, members } of replays) {
  test(note, async (t) => {
    const answer = await send(request, who);
    t.is(answer.status, status, answer.text);
    t.is(answer.headers.get('content-type'), 'application/json');
    hasMembers(t, json(answer), members);
  });
}

test('keys have what the clients require of each', async (t) => {
  const list = field(json(await send(go('GET', `${base}/oauth2/keys?rfc=true`), nobody)), 'keys');
  if (!Array.isArray(list)) return t.fail();
  t.true(list.length >= 4);
  for (const key of list)
    hasMembers(t, key, { kty: 'text', kid: 'text', alg: 'text', crv: 'text', x: 'text', y: 'text' });
});

/** The subject that the Go tools write: `C=US, O=Oath Inc., OU=Athenz, CN=…`. */
const printable = (text: string) => element(0x13, Buffer.from(text));

function subject(name: string): readonly Buffer[] {
  return [
    set(sequence(oids.country.der, printable('US'))),
    set(sequence(oids.organization.der, printable('Oath Inc.'))),
    set(sequence(oids.organizationalUnit.der, printable('Athenz'))),
    commonName(name),
  ];
}

const requestFor = (of: Pair, name: string, altNames: readonly RequestedName[]) =>
  requestPem(of, { moreSubject: subject(name), altNames });
const serviceNames = (id?: string): readonly RequestedName[] => [
  ['dns', 'player.media.signet.test'],
  ['uri', 'spiffe://media/sa/player'],
  ...(id === undefined ? [] : [['uri', `athenz://instanceid/sys.auth.server/${id}`] as const]),
];
const roleNames: readonly RequestedName[] = [
  ['dns', 'player.media.athenz.cloud'],
  ['email', 'media.player@athenz.cloud'],
  ['ip', Buffer.of(127, 0, 0, 1)],
  ['uri', 'spiffe://catalog/ra/reader'],
  ['uri', 'athenz://principal/media.player'],
];

test('zts-rolecert, its older path, and the certificate as the identity of zts-accesstoken', async (t) => {
  const own = ecPair();
  const csr = requestFor(own, 'catalog:role.reader', roleNames);
  const answer = await send(goJson(`${base}/rolecert`, { csr, expiryTime: 60 }), player);
  t.is(answer.status, 200, answer.text);
  hasMembers(t, json(answer), { x509Certificate: 'text' });
  const certificate = String(field(json(answer), 'x509Certificate'));
  const leaf = new X509Certificate(certificate);
  t.is(leaf.subject, 'C=US\nO=Oath Inc.\nOU=Athenz\nCN=catalog:role.reader');
  t.true(leaf.checkPrivateKey(own.privateKey));
  const older = await send(goJson(`${base}/domain/catalog/role/reader/token`, { csr, expiryTime: 60 }), player);
  t.is(older.status, 200, older.text);
  hasMembers(t, json(older), roleToken);
  const asked = goForm(tokenPath, `${grant}&scope=catalog%3Arole.reader`);
  const again = await send(asked, { certificate, key: keyPem(own) });
  t.is(again.status, 200, again.text);
  hasMembers(t, json(again), accessToken);
});

test('zts-svccert: a token from its own command, the registration without a certificate, and both refreshes', async (t) => {
  const own = ecPair();
  const instance = `${base}/instance/sys.auth.server/media/player/g-1`;
  const told = await send(go('GET', `${instance}/token`), admin);
  t.is(told.status, 200, told.text);
  hasMembers(t, json(told), { provider: 'text', domain: 'text', service: 'text', attestationData: 'text' });
  const body = {
    provider: 'sys.auth.server',
    domain: 'media',
    service: 'player',
    // As it is read from the file to which the tool was redirected.
    attestationData: `${field(json(told), 'attestationData')}\n`,
    csr: requestFor(own, 'media.player', serviceNames('g-1')),
  };
  const answer = await send(goJson(`${base}/instance`, body), nobody);
  t.is(answer.status, 201, answer.text);
  hasMembers(t, json(answer), {
    provider: 'text',
    name: 'text',
    instanceId: 'text',
    x509Certificate: 'text',
    x509CertificateSigner: 'text',
  });
  t.is(answer.headers.get('location'), instance);
  const certificate = String(field(json(answer), 'x509Certificate'));
  const identity = { name: 'text', certificate: 'text', caCertBundle: 'text' } as const;
  const refresh = { csr: requestFor(own, 'media.player', serviceNames('g-1')), expiryTime: 90, keyId: '0' };
  // The key of an instance is registered nowhere: such a refresh names the registered one.
  const byToken = { ...refresh, csr: requestFor(pair, 'media.player', serviceNames()) };
  const refreshed = await send(goJson(`${base}/instance/media/player/refresh`, byToken, [ntoken]), nobody);
  t.is(refreshed.status, 200, refreshed.text);
  hasMembers(t, json(refreshed), identity);
  const withCertificate = await send(goJson(`${base}/instance/media/player/refresh`, byToken), player);
  t.is(withCertificate.status, 200, withCertificate.text);
  hasMembers(t, json(withCertificate), identity);
  t.is((await send(goJson(instance, refresh), { certificate, key: keyPem(own) })).status, 200);
});

test('Java: registration with a token and keys, its location, refresh and deletion', async (t) => {
  const own = ecPair();
  const path = `${base}/instance/sys.auth.server/media/player/j-1`;
  const attestationData = field(json(await send(java('GET', `${path}/token`), admin)), 'attestationData');
  const csr = requestFor(own, 'media.player', serviceNames('j-1'));
  const more = { token: true, athenzJWK: true };
  const body = { provider: 'sys.auth.server', domain: 'media', service: 'player', attestationData, csr, ...more };
  const answer = await send(java('POST', `${base}/instance`, body), nobody);
  t.deepEqual([answer.status, answer.headers.get('location')], [201, path], answer.text);
  hasMembers(t, json(answer), { x509Certificate: 'text', serviceToken: 'text', athenzJWK: 'object' });
  const jwk = field(json(answer), 'athenzJWK');
  hasMembers(t, jwk, { zts: 'object', zms: 'object', modified: 'time' });
  const who = { certificate: String(field(json(answer), 'x509Certificate')), key: keyPem(own) };
  const refreshed = await send(java('POST', path, { csr, ...more }), who);
  t.is(refreshed.status, 200, refreshed.text);
  hasMembers(t, json(refreshed), { provider: 'text', name: 'text', instanceId: 'text', serviceToken: 'text' });
  const deleted = await send(java('DELETE', path), admin);
  t.deepEqual([deleted.status, deleted.text], [204, '']);
});

test('zpu: the older form, 304 on its second run, and the keys that it verifies with', async (t) => {
  const ask = (known: string) =>
    go('GET', `${base}/domain/catalog/signed_policy_data`, undefined, [`If-None-Match: ${known}`]);
  const first = await send(ask(''), player);
  t.is(first.status, 200, first.text);
  hasMembers(t, json(first), { signedPolicyData: 'object', signature: 'text', keyId: 'text' });
  const data = field(json(first), 'signedPolicyData');
  hasMembers(t, data, {
    policyData: 'object',
    zmsSignature: 'text',
    zmsKeyId: 'text',
    modified: 'time',
    expires: 'time',
  });
  const second = await send(ask(`"${field(data, 'modified')}"`), player);
  t.deepEqual([second.status, second.text], [304, '']);
  for (const [service, kid] of [
    ['zts', field(json(first), 'keyId')],
    ['zms', field(data, 'zmsKeyId')],
  ]) {
    const key = await send(go('GET', `${base}/domain/sys.auth/service/${service}/publickey/${kid}`), player);
    t.is(key.status, 200, key.text);
    hasMembers(t, json(key), publicKey);
  }
});

test('zpu: the JWS form, 304 on its second run', async (t) => {
  const ask = (known: string) =>
    goJson(`${base}/domain/catalog/policy/signed`, { policyVersions: null, signatureP1363Format: true }, [
      `If-None-Match: ${known}`,
    ]);
  const first = await send(ask(''), player);
  t.is(first.status, 200, first.text);
  hasMembers(t, json(first), jws);
  t.is(Buffer.from(String(field(json(first), 'signature')), 'base64url').length, 64);
  const payload: unknown = JSON.parse(Buffer.from(String(field(json(first), 'payload')), 'base64url').toString());
  hasMembers(t, payload, { policyData: 'object', modified: 'time', expires: 'time' });
  const second = await send(ask(`"${field(payload, 'modified')}"`), player);
  t.deepEqual([second.status, second.text], [304, '']);
  const der = await send(goJson(`${base}/domain/catalog/policy/signed`, { policyVersions: {} }), player);
  t.is(Buffer.from(String(field(json(der), 'signature')), 'base64url')[0], 0x30);
});

test('every refusal is JSON with a code and a message, as Java needs it', async (t) => {
  const cases: readonly (readonly [request: string, who: CallerOptions, status: number])[] = [
    [go('GET', `${base}/domain/catalog/token?role=a%20b`), player, 400],
    [go('GET', `${base}/domain/catalog/token`), nobody, 401],
    [go('GET', `${base}/domain/catalog/token`, undefined, ['Athenz-Principal-Auth: x']), player, 401],
    [go('GET', `${base}/domain/catalog/token`, undefined, ['Svc-Principal-Auth: x']), player, 401],
    [go('GET', `${base}/domain/catalog/token?role=none`), player, 403],
    [go('GET', `${base}/domain/nowhere/token`), player, 404],
    [go('PUT', `${base}/status`, ''), player, 405],
    [goForm(`${base}/rolecert`, 'csr=x'), player, 415],
  ];
  for (const [request, who, status] of cases) {
    const answer = await send(request, who);
    t.is(answer.status, status, answer.text);
    t.is(answer.headers.get('content-type'), 'application/json');
    t.is(field(json(answer), 'code'), status);
    hasMembers(t, json(answer), resourceError);
  }
});
