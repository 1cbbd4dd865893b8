import test from 'ava';
import { type Kind, kinds, presentedCredentials, tokensAlone } from '#support/presented-credentials';
import { wholeFile } from '#support/start-server';

/* Every operation that is mounted, with every kind of credential: a new one needs a row here. */

/**
 * Callers that pass authentication. `anyone`: whatever is presented. `stranger`: no certificate, or a valid one; `login` accepts those of roles,
 * `stranger` does not. `certificate`: every valid one, those of roles too. `service`: one of a service or user. `right`: one of a service or
 * user that holds the right to it.
 */
type Who = 'anyone' | 'login' | 'stranger' | 'certificate' | 'service' | 'right';
/** Effect of a principal token that names another principal than the certificate: none, name the caller, or that only when it is new. */
type Token = 'confirms' | 'names' | 'names-new';

type Row = readonly [who: Who, token: Token, operations: string];

const management: readonly Row[] = [
  ['right', 'confirms', 'POST /domains'],
  ['service', 'confirms', 'POST /plan /apply /requests /requests/:id/approval /requests/:id/rejection'],
  ['service', 'confirms', 'DELETE /requests/:id'],
  [
    'service',
    'names-new',
    'GET /domains /access /reviews /search /explanation /grantees /certificates /certificates/:serial /requests /requests/:id',
  ],
  ['service', 'confirms', 'PUT /certificates/:serial/revocation'],
  ['service', 'names', 'GET /access/:action /access/:action/:resource'],
  ['right', 'names-new', 'GET /changes'],
  [
    'right',
    'names-new',
    `GET /domains/:domainName /domains/:domainName/limits /domains/:domainName/quotas /domains/:domainName/accounts/aws
      /domains/:domainName/changes /domains/:domainName/instances
      /domains/:domainName/role-details /domains/:domainName/group-details
      /domains/:domainName/roles /domains/:domainName/roles/:name /domains/:domainName/roles/:name/changes
      /domains/:domainName/roles/:name/members /domains/:domainName/roles/:name/members/:member
      /domains/:domainName/groups /domains/:domainName/groups/:name /domains/:domainName/groups/:name/changes
      /domains/:domainName/groups/:name/members /domains/:domainName/groups/:name/members/:member
      /domains/:domainName/policies /domains/:domainName/policies/:name /domains/:domainName/policies/:name/changes
      /domains/:domainName/services /domains/:domainName/services/:name /domains/:domainName/services/:name/changes
      /domains/:domainName/services/:name/keys/:keyId`,
  ],
  [
    'right',
    'confirms',
    `PUT /domains/:domainName /domains/:domainName/limits /domains/:domainName/quotas /domains/:domainName/accounts/aws
      /domains/:domainName/roles/:name /domains/:domainName/roles/:name/members/:member
      /domains/:domainName/groups/:name /domains/:domainName/groups/:name/members/:member
      /domains/:domainName/policies/:name /domains/:domainName/policies/:name/active
      /domains/:domainName/policies/:name/versions/:version
      /domains/:domainName/services/:name /domains/:domainName/services/:name/keys/:keyId`,
  ],
  ['right', 'confirms', 'POST /domains/:domainName/policies/:name/versions/:version/assertions'],
  [
    'right',
    'confirms',
    `DELETE /domains/:domainName /domains/:domainName/accounts/aws
      /domains/:domainName/roles/:name /domains/:domainName/roles/:name/members/:member
      /domains/:domainName/groups/:name /domains/:domainName/groups/:name/members/:member
      /domains/:domainName/policies/:name /domains/:domainName/policies/:name/versions/:version
      /domains/:domainName/policies/:name/versions/:version/assertions/:id
      /domains/:domainName/services/:name /domains/:domainName/services/:name/keys/:keyId`,
  ],
];

const instance = '/instance/:provider/:domain/:service/:instanceId';
const documents =
  '/oauth2/keys /.well-known/jwks.json /.well-known/oauth-authorization-server /.well-known/openid-configuration';
const bundle = '/domain/:domainName/policy/signed';
const published = `${bundle} /domain/:domainName/service/:serviceName/publickey/:keyId /cacerts/:name /crl /crl/:issuer /sshcert/krl`;

/** The operations below the base path that are the same in both profiles. */
const both: readonly Row[] = [
  ['anyone', 'confirms', 'GET /healthz /readyz'],
  ['login', 'confirms', 'GET /login'],
  ['login', 'confirms', 'POST /login'],
  ['stranger', 'confirms', 'POST /instance'],
  [
    'certificate',
    'names',
    'GET /access/domain/:domainName/principal/:principal /access/:action /access/:action/:resource',
  ],
  ['certificate', 'names', 'GET /access/domain/:domainName/role/:roleName/principal/:principal'],
  ['certificate', 'confirms', 'POST /access-checks'],
  ['service', 'confirms', `GET /bundle-domains /domain/:domainName/role/:roleName/creds`],
  [
    'service',
    'confirms',
    `POST /sshcert /sshcert/revoke /rolecert ${instance} /domain/:domainName/role/:roleName/token`,
  ],
  ['service', 'confirms', 'POST /principal/:principal/certificate'],
  ['right', 'confirms', `DELETE ${instance}`],
  ['right', 'confirms', `GET ${instance}/token`],
];

const own: Readonly<Record<'signet' | 'athenz', readonly Row[]>> = {
  signet: [
    ['certificate', 'confirms', `GET ${documents} /openapi.json ${published}`],
    ['certificate', 'confirms', `POST /oauth2/token ${bundle}`],
    ['service', 'confirms', 'POST /instance/:domain/:service/refresh'],
  ],
  athenz: [
    ['anyone', 'names', `GET ${documents} /openapi.json /status`],
    [
      'certificate',
      'names',
      `GET ${published} /cacerts/athenz /domain/:domainName/signed_policy_data /role/cert /oauth2/auth`,
    ],
    [
      'certificate',
      'names',
      'GET /domain/:domainName/service /domain/:domainName/service/:serviceName /host/:host/services',
    ],
    ['certificate', 'names', 'GET /providerdomain/:provider/user/:user'],
    ['certificate', 'names', `POST /oauth2/token ${bundle}`],
    ['certificate', 'confirms', 'POST /oauth2/introspect'],
    ['right', 'names', 'GET /domain/:domainName/token'],
    ['service', 'names', 'POST /instance/:domain/:service/refresh'],
  ],
};

/** The rows by operation, and what is served beside the base path as it is below it. */
function tableOf(profile: 'signet' | 'athenz', base: string): ReadonlyMap<string, Row> {
  const table = new Map<string, Row>();
  const add = (row: Row, at: (path: string) => string) => {
    const [method = '', ...paths] = row[2].split(/\s+/);
    for (const path of paths) table.set(`${method} ${at(path)}`, row);
  };
  for (const row of [...both, ...own[profile]]) add(row, (path) => `${base}${path}`);
  for (const row of management) add(row, (path) => `/management/v1${path}`);
  for (const [outside, inside] of [
    ...['/healthz', '/readyz', '/openapi.json'].map((path) => [path, path]),
    ...['oauth-authorization-server', 'openid-configuration'].map((name) => [
      `/.well-known/${name}${base}`,
      `/.well-known/${name}`,
    ]),
  ]) {
    const row = table.get(`GET ${base}${inside}`);
    if (row !== undefined) table.set(`GET ${outside}`, row);
  }
  return table;
}

/** Certificates that pass, or none. */
const passing: Readonly<Record<Who, readonly Kind[]>> = {
  anyone: kinds,
  login: ['nothing', ...tokensAlone, 'role', 'service'],
  stranger: ['nothing', ...tokensAlone, 'service'],
  certificate: ['role', 'service'],
  service: ['service'],
  right: [],
};
/** Tokens that name the caller. */
const naming = { confirms: [], names: ['new token', 'token'], 'names-new': ['new token'] } as const;

function expected([who, token]: Row, kind: Kind, mayStandAlone: boolean): 401 | 403 | 'passes' {
  const tokens: readonly Kind[] = naming[token];
  const isNamed = tokens.some((one) => one === kind || (mayStandAlone && `${one} alone` === kind));
  if (kind === 'operator' || isNamed || passing[who].includes(kind)) return 'passes';
  return kind === 'role' || kind === 'service' ? 403 : 401;
}

const file = wholeFile();
const worlds = [await presentedCredentials(file, 'signet'), await presentedCredentials(file, 'athenz')];
test.after.always(() => file.end());

/** A path of this operation; what the operator asks for is nowhere, so that he changes nothing. */
function pathOf(pattern: string, kind: Kind): string {
  const domain = kind === 'operator' ? 'nowhere' : 'catalog';
  const parts: Readonly<Record<string, string>> = {
    domain,
    domainName: domain,
    provider: 'sys.auth.server',
    service: 'api',
    serviceName: 'api',
    principal: 'media.player',
    member: 'media.player',
  };
  return pattern.replace(/:(\w+)/g, (_, name: string) => parts[name] ?? 'reader');
}

for (const { profile, server, credentials } of worlds) {
  const base = new URL(server.baseUrl).pathname;
  const table = tableOf(profile, base);
  const line = server.log.find(({ msg }) => msg === 'operations')?.['served'] as readonly string[];
  const served = line.flatMap((entry) => {
    const [methods = '', path] = entry.split(' ');
    return methods.split(',').map((method) => `${method} ${path}`);
  });

  test(`${profile}: every operation has a row, and every row is of one`, (t) => {
    t.deepEqual(served.filter((entry) => !entry.startsWith('HEAD ')).sort(), [...table.keys()].sort());
  });

  for (const { name, kind, call, headers } of credentials) {
    test(`${profile}: ${kind}, ${name}`, async (t) => {
      t.timeout(300_000);
      // Of a kind, the first one asks for HEAD as well.
      const isFirst = credentials.find((credential) => credential.kind === kind)?.name === name;
      const wrong: string[] = [];
      for (const operation of served) {
        const [method = '', pattern = ''] = operation.split(' ');
        const row = table.get(operation.replace(/^HEAD /, 'GET '));
        if (row === undefined || (method === 'HEAD' && !isFirst)) continue;
        const hasBody = method === 'POST' || method === 'PUT';
        const type = /oauth2\/(?:token|introspect)$/.test(pattern) ? 'x-www-form-urlencoded' : 'json';
        const more = hasBody
          ? { body: '{}', headers: { ...headers, 'content-type': `application/${type}` } }
          : { headers };
        const { status } = await call(`^${pathOf(pattern, kind)}`, { method, ...more });
        const outcome = status === 401 || status === 403 ? status : 'passes';
        const right = expected(row, kind, profile === 'athenz');
        if (outcome !== right) wrong.push(`${operation}: ${status}, not ${right}`);
      }
      t.deepEqual(wrong, []);
    });
  }
}
