import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { openApiDocument, operations } from '@signet/server/openapi/document';
import { resourceError } from '@signet/server/openapi/operation';
import test from 'ava';
import { managementWorld, send } from '#support/management-world';
import type { Answer, Caller, CallOptions } from '#support/start-server';

const { server, base, operator, boss, guest, newDomain, end } = await managementWorld();
test.after.always(end);

test('docs/openapi.json is what the table of operations makes (`signet openapi`)', (t) => {
  const written: unknown = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'));
  t.deepEqual(written, JSON.parse(JSON.stringify(openApiDocument())));
});

test('every operation that is served is in the document, and the other way round', (t) => {
  const served = server.log.find(({ msg }) => msg === 'operations')?.['served'] as readonly string[];
  const mounted = served.flatMap((route) => {
    const [methods = '', path = ''] = route.split(' ');
    const plain = path.replace(/:(\w+)/g, '{$1}');
    return methods.split(',').flatMap((method) => (method === 'HEAD' ? [] : [`${method.toLowerCase()} ${plain}`]));
  });
  const described = operations.map(({ method, path }) => `${method} ${path}`);
  t.deepEqual([...new Set(described)].sort(), [...described].sort());
  t.deepEqual(mounted.sort(), described.sort());
});

/** The operation that answers a request; parameters are whole parts of a path. */
function operationOf(method: string, path: string) {
  const plain = path.split('?')[0] ?? '';
  return operations.find((operation) => {
    const pattern = operation.path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+');
    return operation.method === method.toLowerCase() && new RegExp(`^${pattern}$`).test(plain);
  });
}

/** What is wrong with an answer, measured by the document. */
function faultOf(method: string, path: string, { status, body, text }: Answer): string | undefined {
  const operation = operationOf(method, path);
  if (operation === undefined) return 'no such operation';
  const described = operation.answers[status];
  if (described === undefined && status === 304) return undefined;
  const schema = described === undefined && status >= 400 ? resourceError : described?.schema;
  if (described === undefined && schema === undefined) return `status ${status} is not described: ${text}`;
  if (schema === undefined) return undefined;
  const parsed = schema.safeParse(body);
  return parsed.success ? undefined : `${parsed.error.message}: ${text}`;
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
  for (const [who, path, options] of requests) {
    const answer = await who(path, options);
    const method = options?.method ?? 'GET';
    const full = path.startsWith('^') ? path.slice(1) : `/v1${path}`;
    t.is(faultOf(method, full, answer), undefined, `${method} ${full} ${answer.status}`);
  }
});
