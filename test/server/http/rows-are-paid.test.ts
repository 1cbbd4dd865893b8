import Router from '@koa/router';
import {
  parseDomainName,
  parsePathElement,
  parsePrincipalName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { costs } from '@signet/server/budgets/costs';
import { managementPath, mountManagementRoutes } from '@signet/server/http/management/index';
import type { ManagementRouteDeps } from '@signet/server/http/management/management-deps';
import type { AccessDeps } from '@signet/server/http/routes/access-route';
import test from 'ava';
import { caller, startServer, wholeFile } from '#support/start-server';

/* Each operation of the management API has its caller pay for every row that is read for it, by the debt that it leaves. */

const rows = 300;
/** A certificate has a twentieth: 5 ms at once, and 50 microseconds a second later. */
const burstUs = 5000;
const usPerSecond = 50;
const budget = { workMsPerSecond: 1, burstMs: 100, inFlight: 20, share: 0.05 };
const numbers = Array.from({ length: rows }, (_, index) => index);
const members = numbers.map((index) => ({ name: `media.m${index}`, disabled: false, review: 1000 }));

let now = 0;
const file = wholeFile();
const server = await startServer(file, {
  domains: [
    {
      name: 'sys.auth',
      roles: { admin: ['sys.auth.operator'] },
      policies: { administration: [['ALLOW', 'admin', '*', '*']] },
      services: { operator: {} },
    },
    { name: 'listed', roles: { many: { members } } },
    { name: 'held', roles: { many: { members } }, policies: { rules: [['ALLOW', 'many', 'read', 'film']] } },
    { name: 'grouped', groups: { many: members.map(({ name }) => name) } },
    {
      name: 'ruled',
      roles: { many: [] },
      groups: { few: [] },
      services: { api: {} },
      policies: { rules: numbers.map((index) => ['ALLOW', 'many', 'read', `object${index}`] as const) },
    },
    {
      name: 'wide',
      roles: Object.fromEntries(numbers.map((index) => [`r${index}`, []])),
      groups: Object.fromEntries(numbers.map((index) => [`g${index}`, []])),
      services: Object.fromEntries(numbers.map((index) => [`s${index}`, {}])),
    },
    { name: 'hosts', services: { api: {} } },
    { name: 'empty' },
    ...numbers.map((index) => ({ name: `other${index}` })),
  ],
  options: { 'budgets.principal': budget, 'budgets.refusalDelayMs': 0 },
  monotonic: () => now,
});
const operator = caller(file, server, await server.pki.identity('sys.auth.operator'));
test.after.always('end', () => file.end());

/** Of each kind of object there are as many records as of the domain. */
async function logMany(): Promise<void> {
  for (const index of numbers) {
    await server.save({
      name: 'logged',
      roles: { changing: [`media.m${index}`] },
      groups: { changing: [`media.m${index}`] },
      services: index % 2 === 0 ? { changing: {} } : {},
      policies: { changing: [['ALLOW', 'changing', 'read', `object${index}`]] },
    });
  }
}

async function registerMany(): Promise<void> {
  const { certificates, instances } = server.store;
  const provider = parsePrincipalName('sys.auth.provider');
  const holder = parsePrincipalName('hosts.api');
  const service = { provider, domain: parseDomainName('hosts'), service: parseServiceName('api') };
  for (const index of numbers) {
    const key = { ...service, instanceId: parsePathElement(`i${index}`) };
    const given = { serial: `${index}`.padStart(32, '0'), fingerprint: 'f', notAfter: 4_000_000_000 };
    const row = {
      ...key,
      ...given,
      issuer: 'i',
      kind: 'instance',
      subject: 'hosts.api',
      holder,
      notBefore: 0,
    } as const;
    await certificates.intend(row, 1);
    await instances.register(key, given, { clientOnly: false, at: 1 });
  }
}

async function requestMany(): Promise<void> {
  const domain = parseDomainName('hosts');
  const content = { kind: 'role', domain, role: parseRoleName('none'), seconds: 60 } as const;
  const request = { state: 'rejected', author: 'user.a', created: 0, expires: 1, closed: 1 } as const;
  await server.store.change({ actor: 'test' }, async (transaction) => {
    for (const _ of numbers) {
      await transaction.addRequest({ ...request, domains: [domain], needed: 1, content, approvals: [] });
    }
  });
}

/** So that a change is judged and not made. */
const refused = { headers: { 'if-match': '"another"', 'content-type': 'application/json' } };

/**
 * Cost of a request to its caller beside the characters of its answer and of the changes' sides, in microseconds: it is sent until the budget is
 * in debt, which `Retry-After` tells.
 */
async function costOf(method: string, path: string): Promise<number> {
  // All of the budget is there again.
  now += 1e12;
  let characters = 0;
  for (let count = 0; count < 100; count += 1) {
    const { status, headers, text, body } = await operator(`^${managementPath}${path}`, {
      method,
      ...(method !== 'GET' && refused),
      ...(method === 'PUT' && { body: path.includes('policies') ? '[]' : '{}' }),
    });
    if (status === 429) {
      const cost = (burstUs + Number(headers['retry-after']) * usPerSecond) / count;
      return cost - characters * costs.answerByte;
    }
    if (status !== 200 && status !== 404 && status !== 412) throw new Error(`${path}: ${status} ${text}`);
    characters = text.length + charactersOfSides(Object(body).items ?? []);
  }
  throw new Error(`${path} costs next to nothing`);
}

/** Characters of the sides of changes, which are charged beside the answer. */
function charactersOfSides(items: readonly { readonly before?: unknown; readonly after?: unknown }[]): number {
  return items.reduce((sum, { before, after }) => sum + lengthOf(before) + lengthOf(after), 0);
}

function lengthOf(side: unknown): number {
  return side === undefined ? 0 : JSON.stringify(side).length;
}

/** Requests that read rows: their number, beside the same request for a domain that has none. */
const readings: readonly (readonly [template: string, path: string, rows: number])[] = [
  ['/domains', '/domains?limit=1', rows],
  ['/domains/:domainName', '/domains/ruled', 0],
  ['/domains/:domainName/limits', '/domains/ruled/limits', 0],
  ['/domains/:domainName/quotas', '/domains/ruled/quotas', 0],
  ['/domains/:domainName/accounts/aws', '/domains/ruled/accounts/aws', 0],
  ['/domains/:domainName/roles', '/domains/wide/roles', rows],
  ['/domains/:domainName/roles/:name', '/domains/listed/roles/many', rows],
  ['/domains/:domainName/roles/:name/members', '/domains/listed/roles/many/members?limit=1000', rows],
  ['/domains/:domainName/roles/:name/members/:member', '/domains/ruled/roles/many/members/media.m1', 0],
  ['/domains/:domainName/groups', '/domains/wide/groups', rows],
  ['/domains/:domainName/groups/:name', '/domains/grouped/groups/many', rows],
  ['/domains/:domainName/groups/:name/members', '/domains/grouped/groups/many/members?limit=1000', rows],
  ['/domains/:domainName/groups/:name/members/:member', '/domains/ruled/groups/few/members/media.m1', 0],
  // Each with its first members.
  ['/domains/:domainName/role-details', '/domains/listed/role-details?name=many', 11],
  ['/domains/:domainName/group-details', '/domains/grouped/group-details?name=many', 11],
  ['/domains/:domainName/policies', '/domains/ruled/policies', rows],
  ['/domains/:domainName/policies/:name', '/domains/ruled/policies/rules', rows],
  ['/domains/:domainName/services', '/domains/wide/services', rows],
  ['/domains/:domainName/services/:name', '/domains/wide/services/s0', 0],
  ['/domains/:domainName/services/:name/keys/:keyId', '/domains/wide/services/s0/keys/0', 0],
  ['/domains/:domainName/instances', '/domains/hosts/instances?limit=1000', rows],
  ['/domains/:domainName/changes', '/domains/logged/changes?limit=1000', rows],
  ['/domains/:domainName/roles/:name/changes', '/domains/logged/roles/changing/changes?limit=1000', rows],
  ['/domains/:domainName/groups/:name/changes', '/domains/logged/groups/changing/changes?limit=1000', rows],
  ['/domains/:domainName/policies/:name/changes', '/domains/logged/policies/changing/changes?limit=1000', rows],
  ['/domains/:domainName/services/:name/changes', '/domains/logged/services/changing/changes?limit=1000', rows],
  // Fewer: a page ends early where its records are large.
  ['/changes', '/changes?limit=200', 200],
  ['/search', '/search?action=none', rows],
  ['/reviews', '/reviews?limit=1', rows],
  // Every domain, in most of which the principal holds nothing.
  ['/access', '/access?principal=media.m1', rows],
  ['/grantees', '/grantees?action=read&resource=ruled:object1', 0],
  ['/grantees', '/grantees?action=read&resource=held:film', rows],
  ['/certificates', '/certificates?holder=hosts.api&state=all&limit=1000', rows],
  ['/certificates/:serial', `/certificates/${'1'.padStart(32, '0')}`, 0],
  ['/requests', '/requests?limit=1000', rows],
  ['/requests/:id', '/requests/1?effect=false', 0],
  // By what is compared, as everywhere.
  ['/explanation', '/explanation?action=read&resource=ruled:object1&principal=media.m1', 0],
  ['/access/:action', '/access/read?resource=ruled:object1&principal=media.m1', 0],
  ['/access/:action/:resource', '/access/read/ruled:object1?principal=media.m1', 0],
];

/** Changes that read rows, of a domain that has them, and the same of one that has none. */
const changes = [
  ['DELETE', 'ruled', 'policies/rules', 'policies/none'],
  ['PUT', 'ruled', 'policies/rules', 'policies/none'],
  ['DELETE', 'listed', 'roles/many', 'roles/none'],
  ['PUT', 'listed', 'roles/many', 'roles/none'],
  ['DELETE', 'grouped', 'groups/many', 'groups/none'],
] as const;

test.serial('whoever reads rows pays for each of them', async (t) => {
  await logMany();
  await registerMany();
  await requestMany();
  // The first request pays for the handshake too.
  await costOf('GET', '/domains/empty/limits');
  const plain = await costOf('GET', '/domains/empty/limits');
  t.log(`a request that reads no rows: ${Math.round(plain)} microseconds`);
  for (const [, path, count] of readings) {
    const rest = (await costOf('GET', path)) - plain;
    t.log(`${path}: ${Math.round(rest)} more for ${count} rows`);
    if (count === 0) continue;
    t.true(rest >= count * costs.row - usPerSecond, `${path} costs ${rest}`);
    t.true(rest < 12 * rows * costs.row, `${path} costs ${rest}`);
  }
});

test.serial(
  'whoever changes a domain pays for the rows that the change is judged by, also when it is refused',
  async (t) => {
    for (const [method, domain, path, none] of changes) {
      const plain = await costOf(method, `/domains/empty/${none}`);
      const rest = (await costOf(method, `/domains/${domain}/${path}`)) - plain;
      t.log(`${method} ${path}: ${Math.round(rest)} more for ${rows} rows`);
      t.true(rest >= rows * costs.row - 2 * usPerSecond, `${path} costs ${rest}`);
    }
  },
);

test('every operation that reads is among them', (t) => {
  const deps = { basePath: managementPath, quotas: { members: 1 } } as unknown as ManagementRouteDeps;
  const stated = mountManagementRoutes(new Router() as never, deps, {} as AccessDeps, 1024);
  const reads = stated.filter(({ method }) => method === 'get').map(({ path }) => path);
  const read = new Set(readings.map(([template]) => `${managementPath}${template}`));
  t.deepEqual(reads.sort(), [...read].sort());
});
