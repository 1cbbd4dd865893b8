import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { openApiDocument, operationsOf, usualServer } from '@signet/server/http/openapi/document';
import test from 'ava';
import { DocumentCheck, type GivenAnswer, servedAt } from '#support/documented';
import { managementWorld, send } from '#support/management-world';
import { type Caller, type CallOptions, caller, startServer, type TestServer } from '#support/start-server';

const { base, operator, boss, guest, newDomain, end } = await managementWorld();
test.after.always(end);

type Json = Readonly<Record<string, unknown>>;
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value));
const usual = plain(openApiDocument());

test('docs/openapi.json is what the table of operations makes (`signet openapi`)', (t) => {
  t.deepEqual(JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8')), usual);
});

/** `get /v1/oauth2/keys` of every route of a server's routers, `HEAD` aside. */
function routesOf({ log }: TestServer): readonly string[] {
  const served = log.find(({ msg }) => msg === 'operations')?.['served'] as readonly string[];
  return served.flatMap((route) => {
    const [methods = '', path = ''] = route.split(' ');
    const parameters = path.replace(/:(\w+)/g, '{$1}');
    return methods.split(',').flatMap((method) => (method === 'HEAD' ? [] : [`${method.toLowerCase()} ${parameters}`]));
  });
}

const servers: Readonly<Record<string, Json>> = {
  'as it is usually': {},
  'with the profile athenz': { profile: 'athenz' },
  'without the management API': { 'management.enabled': false },
  'with the management API alone': { 'management.alone': true },
  'that issues no certificates': { 'certificates.issuers': [] },
  'at the root of its host': { baseUrl: 'https://tokens.example' },
  'with an issuer elsewhere': { issuer: 'https://tokens.example/other/place' },
};

for (const [what, options] of Object.entries(servers)) {
  test(`a server ${what} serves every operation of its document, and no other`, async (t) => {
    const made = await startServer(t, { options });
    const described = operationsOf(servedAt(made.baseUrl)).map(({ method, path }) => `${method} ${path}`);
    t.deepEqual(routesOf(made).toSorted(), described.toSorted());
    const { paths } = openApiDocument(servedAt(made.baseUrl)) as { readonly paths: Readonly<Record<string, Json>> };
    const inDocument = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((one) => `${one} ${path}`),
    );
    t.deepEqual(inDocument.toSorted(), described.toSorted());
    const ids = operationsOf(servedAt(made.baseUrl)).map(({ id }) => id);
    t.deepEqual([...new Set(ids)], ids);
  });
}

for (const [profile, paths] of [
  ['signet', ['/openapi.json', '/v1/openapi.json']],
  ['athenz', ['/openapi.json', '/zts/v1/openapi.json']],
] as const) {
  test(`the profile ${profile} gives the document of its server, and says when it has changed`, async (t) => {
    const options = { profile, anonymousKeys: false };
    const made = await startServer(t, { options, domains: [{ name: 'media', services: { player: {} } }] });
    const call = caller(t, made, await made.pki.identity('media.player'));
    const document = plain(openApiDocument(servedAt(made.baseUrl)));
    t.deepEqual(document['servers'], [{ url: new URL(made.baseUrl).origin }]);
    for (const path of paths) {
      const given = await call(`^${path}`);
      t.is(given.status, 200);
      t.deepEqual(given.body, document);
      t.is(given.headers['content-type'], 'application/json');
      t.is(given.headers['cache-control'], 'max-age=300');
      const etag = String(given.headers['etag']);
      const again = await call(`^${path}`, { headers: { 'if-none-match': etag } });
      t.deepEqual([again.status, again.text, again.headers['etag']], [304, '', etag]);
      const head = await call(`^${path}`, { method: 'HEAD' });
      t.deepEqual([head.status, head.text, head.headers['etag']], [200, '', etag]);
      t.is(head.headers['content-length'], given.headers['content-length']);
    }
  });

  test(`strangers read the document of the profile ${profile} only with anonymousKeys`, async (t) => {
    for (const anonymousKeys of [true, false]) {
      const made = await startServer(t, { options: { profile, anonymousKeys } });
      const stranger = caller(t, made);
      for (const path of paths) t.is((await stranger(`^${path}`)).status, anonymousKeys ? 200 : 401, path);
    }
  });
}

/** Every value in a document, with the members that lead to it. */
function* walk(
  value: unknown,
  path: readonly string[] = [],
): Generator<readonly [path: readonly string[], value: Json]> {
  if (typeof value !== 'object' || value === null) return;
  yield [path, value as Json];
  for (const [name, inner] of Object.entries(value)) yield* walk(inner, [...path, name]);
}

test('integers have their width, names their patterns and lengths, and no status is a range', (t) => {
  const found = { integers: 0, booleans: 0, names: 0, statuses: 0 };
  for (const [path, value] of walk(usual)) {
    const where = path.join(' ');
    if (value['type'] === 'integer') {
      found.integers += 1;
      t.true(['int32', 'int64'].includes(String(value['format'])), where);
    }
    if (value['type'] === 'boolean') found.booleans += 1;
    if (path.at(-1)?.endsWith('Name') === true && path.at(-2) === 'schemas') {
      found.names += 1;
      t.true(typeof value['pattern'] === 'string' && typeof value['maxLength'] === 'number', where);
    }
    if (path.at(-2) === 'responses' && path[0] === 'paths') {
      found.statuses += 1;
      t.regex(path.at(-1) ?? '', /^[2-5]\d\d$/, where);
    }
  }
  t.true(found.integers > 30 && found.booleans > 10 && found.names > 5 && found.statuses > 1000, JSON.stringify(found));
});

test('what a registration must have is required of it, and not of a refresh', (t) => {
  const { schemas } = usual['components'] as { readonly schemas: Readonly<Record<string, Json>> };
  const required = (name: string) => (schemas[name]?.['required'] as readonly string[] | undefined)?.toSorted();
  t.deepEqual(required('InstanceRegisterInformation'), ['attestationData', 'csr', 'domain', 'provider', 'service']);
  t.is(required('InstanceRefreshInformation'), undefined);
  t.is(required('InstanceRefreshRequest'), undefined);
});

test('operations have the ids by which clients know them', (t) => {
  const ids = Object.fromEntries(operationsOf(usualServer).map(({ id, method, path }) => [id, `${method} ${path}`]));
  t.like(ids, {
    Access: 'get /v1/access/{action}',
    AccessToken: 'post /v1/oauth2/token',
    AWSTemporaryCredentials: 'get /v1/domain/{domainName}/role/{roleName}/creds',
    IdentityRefresh: 'post /v1/instance/{domain}/{service}/refresh',
    InstanceDelete: 'delete /v1/instance/{provider}/{domain}/{service}/{instanceId}',
    InstanceRefresh: 'post /v1/instance/{provider}/{domain}/{service}/{instanceId}',
    InstanceRegister: 'post /v1/instance',
    JWKList: 'get /v1/oauth2/keys',
    RoleAccess: 'get /v1/access/domain/{domainName}/principal/{principal}',
    RoleCertificate: 'post /v1/domain/{domainName}/role/{roleName}/token',
    RoleCheckAccess: 'get /v1/access/domain/{domainName}/role/{roleName}/principal/{principal}',
  });
});

const check = new DocumentCheck(JSON.parse(JSON.stringify(usual)));
const granted = { status: 200, headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } };
const failed = { ...granted, text: '{"code":404,"message":"m"}' };

const undescribed: readonly (readonly [what: string, request: string, answer: GivenAnswer, fault: RegExp])[] = [
  ['a status that is not listed', 'GET /v1/access/read', { ...failed, status: 409 }, /status 409/],
  ['a member too much', 'GET /v1/access/read', { ...granted, text: '{"granted":true,"why":1}' }, /additional/],
  ['a member too little', 'GET /v1/access/read', { ...granted, text: '{}' }, /granted/],
  ['a member of another type', 'GET /v1/access/read', { ...granted, text: '{"granted":"true"}' }, /boolean/],
  [
    'an integer that is too wide',
    'POST /v1/oauth2/token',
    {
      ...granted,
      headers: { ...granted.headers, pragma: 'no-cache' },
      text: '{"access_token":"a","token_type":"Bearer","expires_in":2147483648,"scope":"s"}',
    },
    /expires_in/,
  ],
  ['an error of another form', 'GET /v1/access/read', { ...failed, status: 404, text: '{"error":"no"}' }, /code/],
  [
    'another content type',
    'GET /v1/access/read',
    { ...granted, headers: { ...granted.headers, 'content-type': 'text/plain' }, text: '{"granted":true}' },
    /text\/plain/,
  ],
  [
    'a header that is not listed',
    'GET /v1/access/read',
    { ...granted, headers: { ...granted.headers, etag: '"1"' }, text: '{"granted":true}' },
    /etag/,
  ],
  ['a header that is missing', 'GET /v1/oauth2/keys', { ...granted, text: '{"keys":[]}' }, /etag.*missing/],
  [
    'an entity tag without quotes',
    'GET /v1/oauth2/keys',
    { ...granted, headers: { ...granted.headers, etag: '1' }, text: '{"keys":[]}' },
    /etag.*pattern/,
  ],
  [
    'a body where none is listed',
    'DELETE /v1/instance/a.b/c/d/e',
    { status: 204, headers: { 'cache-control': 'no-store' }, text: 'x' },
    /body/,
  ],
  ['a success at a path that is not there', 'GET /v1/nothing', { ...granted, text: '{}' }, /not in the document/],
  [
    'Allow that names other methods',
    'PUT /v1/oauth2/keys',
    { status: 405, headers: { ...granted.headers, allow: 'GET' }, text: '{"code":405,"message":"m"}' },
    /Allow/,
  ],
];

for (const [what, request, answer, fault] of undescribed) {
  test(`the comparison with the document finds ${what}`, (t) => {
    const [method = '', path = ''] = request.split(' ');
    t.regex(check.faultOf({ method, path }, answer) ?? 'nothing', fault);
  });
}

test('what the server answers is what the document says', async (t) => {
  const domain = await newDomain('described', { description: 'd' });
  const pem = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const rule = { action: 'read', resource: 'film', role: 'reader', conditions: [{ instances: 'h1' }] };
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const json = { 'content-type': 'application/json' };
  const member = { expires: '2099-01-01T00:00:00Z', review: '2001-01-01T00:00:00Z' };
  const requests: readonly (readonly [who: Caller, path: string, options?: CallOptions])[] = [
    [operator, `${base}/domains?dryRun=true`, send('POST', { domain: 'x', admins: ['media.boss'] })],
    [boss, `${base}/domains?limit=1`],
    [boss, domain],
    [boss, domain, send('PUT', { description: 'e' })],
    [boss, `${domain}/limits`, send('PUT', { tokenExpirySeconds: 60 })],
    [boss, `${domain}/limits`],
    [operator, `${domain}/quotas`, send('PUT', { roles: 10 })],
    [boss, `${domain}/quotas`],
    [boss, `${domain}/accounts/aws`],
    [operator, `${domain}/accounts/aws`, send('PUT', { account: '012345678901' })],
    [boss, `${domain}/accounts/aws`],
    [boss, `${domain}/roles/reader`, send('PUT', { description: 'r', tokenExpirySeconds: 5 })],
    [boss, `${domain}/roles/lent`, send('PUT', { trust: 'media' })],
    [boss, `${domain}/roles/lent`],
    [boss, `${domain}/groups/team`, send('PUT', { members: ['media.player'] })],
    [boss, `${domain}/roles/reader/members/media.player`, send('PUT', member)],
    [boss, `${domain}/roles/reader/members/described:group.team`, send('PUT', { disabled: true })],
    [boss, `${domain}/roles/reader/members/*?allowWildcard=true&dryRun=true`, send('PUT', {})],
    [boss, `${domain}/roles/reader/members/media.player`],
    [boss, `${domain}/roles/reader/members/media.nobody`],
    [boss, `${domain}/roles/reader`],
    [boss, `${domain}/roles/reader/members`],
    [boss, `${domain}/groups/team/members`],
    [boss, `${domain}/groups/team`],
    [boss, `${domain}/roles`],
    [boss, `${domain}/policies/p?dryRun=true`, send('PUT', [rule])],
    [boss, `${domain}/policies/p`, send('PUT', [rule])],
    [boss, `${domain}/policies/p/versions/1`, send('PUT', [{ ...rule, caseSensitive: true, effect: 'deny' }])],
    [boss, `${domain}/policies/p/versions/1/assertions`, send('POST', rule)],
    [boss, `${domain}/policies/p/active`, send('PUT', { version: null })],
    [boss, `${domain}/policies/p`],
    [boss, `${domain}/policies`],
    [boss, `${domain}/services/api`, send('PUT', { endpoint: 'https://x.example/', hosts: ['h'] })],
    [boss, `${domain}/services/api/keys/0`, send('PUT', { pem })],
    [boss, `${domain}/services/api/keys/0`],
    [boss, `${domain}/services/api`],
    [boss, `${domain}/services`],
    [boss, `${domain}/instances`],
    [boss, `${domain}/changes`],
    [boss, `${domain}/roles/reader/changes`],
    [boss, `${domain}/groups/team/changes`],
    [boss, `${domain}/policies/p/changes`],
    [boss, `${domain}/services/api/changes`],
    [operator, `${base}/changes?limit=3`],
    [boss, `${base}/reviews`],
    [boss, `${base}/search?member=media.player&resource=film`],
    [boss, `${base}/access/read?resource=described:film`],
    [boss, `${base}/access/read/described:film`],
    [guest, domain],
    [boss, `${domain}/roles/admin/members/media.boss`, send('DELETE')],
    [boss, `${domain}/services/api/keys/0`, send('DELETE')],
    [boss, `${domain}/services/api`, send('DELETE')],
    [boss, `${domain}/policies/p/versions/1`, send('DELETE')],
    [boss, `${domain}/policies/p`, send('DELETE')],
    [boss, `${domain}/roles/lent?dryRun=true`, send('DELETE')],
    [boss, '/oauth2/keys'],
    [boss, '/oauth2/keys?rfc=true'],
    [
      operator,
      '/oauth2/token',
      { method: 'POST', headers: form, body: 'grant_type=client_credentials&scope=sys.auth:domain' },
    ],
    [
      guest,
      '/oauth2/token',
      { method: 'POST', headers: form, body: 'grant_type=client_credentials&scope=sys.auth:domain' },
    ],
    [boss, '/access/read?resource=described:film'],
    [boss, '/access/read/described:film'],
    [boss, '/access/domain/described/principal/media.boss'],
    [boss, '/access/domain/described/role/admin/principal/media.boss'],
    [boss, '/domain/described/policy/signed'],
    [boss, '/domain/described/policy/signed', { method: 'POST', headers: json, body: '{}' }],
    [boss, '/domain/nothing/policy/signed'],
    [boss, '/bundle-domains'],
    [boss, '/domain/described/service/api/publickey/0'],
    [boss, '/domain/described/role/reader/creds'],
    [boss, '/instance', { method: 'POST', headers: json, body: '{}' }],
    [boss, '/cacerts/roots'],
    [boss, '/sshcert', { method: 'POST', headers: json, body: '{}' }],
    [boss, '/.well-known/oauth-authorization-server'],
    [boss, '^/.well-known/openid-configuration/v1'],
    [boss, '^/healthz'],
    [boss, '/readyz'],
  ];
  const statuses = new Set<number>();
  // Each caller compares what it gets with the document.
  for (const [who, path, options] of requests) statuses.add((await who(path, options)).status);
  t.true(statuses.size > 6, [...statuses].join(' '));
});
