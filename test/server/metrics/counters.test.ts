import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect as connectPlain } from 'node:net';
import { connect } from 'node:tls';
import { systemClock } from '@signet/policy-engine/clock';
import { createApp } from '@signet/server/http/app';
import { createLogger } from '@signet/server/logger';
import { profiles } from '@signet/server/profile';
import test from 'ava';
import { instanceDomains, instanceWorld, json, refresh, register } from '#support/instance-world';
import { ecPair, requestPem } from '#support/requests';
import { grown, type Series, seriesIn } from '#support/scrape';
import { caller, form, startServer, type TestServer, wholeFile } from '#support/start-server';
import { until } from '#support/until';

/* Each metric grows by what was done, and by nothing else. */

const file = wholeFile();
const domains = instanceDomains.map((domain) =>
  domain.name === 'sys.auth'
    ? { ...domain, policies: { ...domain.policies, desk: [['ALLOW', 'watchers', 'issue_certificate', '*']] as const } }
    : domain,
);
const world = await instanceWorld(file, { domains, options: { 'metrics.listen.port': 0, 'crl.listen.port': 0 } });
/** For what takes as long as the server lets it. */
const impatient = await startServer(file, {
  domains: instanceDomains,
  pki: world.pki,
  options: { 'metrics.listen.port': 0, 'timeouts.requestMs': 2000 },
});
const studio = await world.pki.identity('media.studio');
const asStudio = caller(file, world, studio);
const admin = await world.identity('media.admin');
const { crlUrl = '' } = world.running;
test.after.always(() => file.end());

/** App without a server around it: no authentication, no limits. */
const bareApp = {
  profile: profiles.signet,
  snapshot: () => {
    throw new Error('nobody asks');
  },
  clock: systemClock,
  logger: createLogger('silent'),
  logRequests: false,
  limits: {
    urlBytes: 1000,
    bodyBytes: 1000,
    largeBodyBytes: 1000,
    connectionRequests: 9,
    connectionBytes: 9,
    principalBytes: 9,
  },
  tokenPath: '/token',
  isOpen: () => true,
  isProbe: () => false,
  isPublishable: () => false,
  isOptional: () => true,
  isRevoked: () => false,
  trust: { generation: 0, handshakeOf: () => -1, trusts: () => false, isWithdrawn: () => false },
  takesLargeBody: () => false,
  isOwnHost: () => true,
  principalTokenUse: () => 'confirms',
  busyRoutes: () => undefined,
  addressOf: () => '',
  budget: undefined,
  onRefused: () => undefined,
  isAnswered: () => false,
  idPrefix: 'x',
} satisfies Partial<Parameters<typeof createApp>[0]>;

const scrape = async (of = world.running): Promise<Series> => seriesIn(await (await fetch(of.metricsUrl ?? '')).text());

/** Increments of these metrics during `work`. */
async function counted(work: () => Promise<unknown>, ...metrics: readonly string[]) {
  const before = await scrape();
  await work();
  return grown(before, await scrape(), ...metrics);
}

const requests = 'signet_http_requests_total';
const grant = (scope: string) => form({ grant_type: 'client_credentials', scope });

/** The bytes of a request, and what came back until the connection was closed. */
async function send(bytes: string, isPatient = true, to: Pick<TestServer, 'baseUrl'> = world): Promise<string> {
  const { hostname: host, port } = new URL(to.baseUrl);
  const { certificate: cert, key } = studio;
  const socket = connect({ host, port: Number(port), cert, key, ca: world.pki.bundle, servername: 'localhost' });
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'secureConnect');
  socket.write(bytes, 'latin1', () => isPatient || socket.destroy());
  await closed;
  return text;
}

test.serial('tokens by kind, their requests and how long these took', async (t) => {
  const metrics = ['signet_tokens_issued_total', 'signet_token_refusals_total', requests];
  const route = '{route="/v1/oauth2/token",method="POST",code="200"}';
  const duration = 'signet_http_request_duration_seconds_count';
  t.deepEqual(await counted(() => asStudio('/oauth2/token', grant('catalog:domain')), ...metrics), {
    'signet_tokens_issued_total{kind="access"}': 1,
    [`${requests}${route}`]: 1,
  });
  const both = () => asStudio('/oauth2/token', grant('openid catalog:domain catalog:service.api'));
  t.deepEqual(await counted(both, ...metrics, duration), {
    'signet_tokens_issued_total{kind="access"}': 1,
    'signet_tokens_issued_total{kind="id"}': 1,
    [`${requests}${route}`]: 1,
    [`${duration}{route="/v1/oauth2/token",method="POST"}`]: 1,
  });
});

test.serial('refusals of tokens by error, and requests that no route takes', async (t) => {
  const metrics = ['signet_tokens_issued_total', 'signet_token_refusals_total', requests];
  const route = (code: number, path = '/v1/oauth2/token') =>
    `${requests}{route="${path}",method="POST",code="${code}"}`;
  t.deepEqual(await counted(() => asStudio('/oauth2/token', grant('nowhere:domain')), ...metrics), {
    'signet_token_refusals_total{error="invalid_scope"}': 1,
    [route(404)]: 1,
  });
  t.deepEqual(await counted(() => world.as()('/oauth2/token', grant('catalog:domain')), ...metrics), {
    'signet_token_refusals_total{error="invalid_client"}': 1,
    [route(401, 'none')]: 1,
  });
  t.deepEqual(await counted(() => fetch(`${crlUrl}/../oauth2/token`, { method: 'POST' }), ...metrics), {
    [route(404, 'none')]: 1,
  });
});

test.serial('answers of every kind that never reaches a route', async (t) => {
  const of = (code: number | string, method = 'GET') => `${requests}{route="none",method="${method}",code="${code}"}`;
  const long = '/'.padEnd(9000, 'a');
  const host = `Host: ${new URL(world.baseUrl).host}\r\n`;
  const cases: readonly (readonly [name: string, work: () => Promise<unknown>, series: string])[] = [
    ['a path that nobody serves', () => asStudio('/nothing'), of(404)],
    ['another method', () => asStudio('/oauth2/keys', { method: 'PATCH', body: '' }), of(405, 'PATCH')],
    [
      'a method that is not one',
      () => send(`PROPFIND /v1 HTTP/1.1\r\n${host}Connection: close\r\n\r\n`),
      of(501, 'other'),
    ],
    ['a method that the parser does not know', () => send(`SIGN /v1 HTTP/1.1\r\n${host}\r\n`), of(501, 'unknown')],
    ['a URL that is too long', () => send(`GET ${long} HTTP/1.1\r\n${host}\r\n`), of(414)],
    [
      'a body that is too large',
      () => send(`POST /v1/oauth2/token HTTP/1.1\r\n${host}Content-Length: 99999999\r\n\r\n`),
      of(413, 'POST'),
    ],
    ['bytes that are not HTTP', () => send('hello\r\n\r\n'), of(400, 'unknown')],
    [
      'headers that are too large',
      () => send(`GET /v1 HTTP/1.1\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`),
      of(431, 'unknown'),
    ],
    ['an expectation', () => send(`GET /v1 HTTP/1.1\r\n${host}Expect: more\r\n\r\n`), of(417)],
    ['a tunnel', () => send('CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'), of(405, 'CONNECT')],
    ['another host', () => send('GET /v1 HTTP/1.1\r\nHost: elsewhere\r\n\r\n'), of(421)],
  ];
  for (const [name, work, series] of cases) t.deepEqual(await counted(work, requests), { [series]: 1 }, name);
});

test.serial('a body that never comes, or not whole, is one request', async (t) => {
  const { host } = new URL(world.baseUrl);
  const type = 'Content-Type: application/x-www-form-urlencoded\r\n';
  const half = `POST /v1/oauth2/token HTTP/1.1\r\nHost: ${host}\r\n${type}Content-Length: 9\r\n\r\ngrant`;
  for (const bytes of [half, half.slice(0, 30)]) {
    const before = await scrape(impatient.running);
    await send(bytes.replace(host, new URL(impatient.baseUrl).host), true, impatient);
    const slow = grown(before, await scrape(impatient.running), requests);
    t.deepEqual(slow, { [`${requests}{route="none",method="unknown",code="408"}`]: 1 });
  }
  const before = await scrape();
  await send(half, false);
  const after = await until('the request is counted', async () => {
    const now = await scrape();
    return Object.keys(grown(before, now, requests)).length > 0 ? now : undefined;
  });
  t.deepEqual(Object.values(grown(before, after, requests)), [1]);
});

test('a caller that is gone before the answer', async (t) => {
  const told = Promise.withResolvers<readonly unknown[]>();
  const app = createApp({
    ...bareApp,
    routes: (router) => void router.get('/slow', (ctx) => once(ctx.req.socket, 'close')),
    observer: {
      answered: (...answer) => told.resolve(answer.slice(0, 3)),
      tokenRefused: () => t.fail(),
    },
  });
  const plain = createServer(app.callback()).listen(0, '127.0.0.1');
  t.teardown(() => plain.close());
  await once(plain, 'listening');
  const { port } = plain.address() as AddressInfo;
  const socket = connectPlain(port, '127.0.0.1');
  socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n', () => socket.destroy());
  t.deepEqual(await told.promise, ['/slow', 'GET', 0]);
});

test.serial('certificates, attestations and revocations', async (t) => {
  const metrics = [
    'signet_certificates_issued_total',
    'signet_certificates_revoked_total',
    'signet_instance_attestations_total',
  ];
  const attested = 'signet_instance_attestations_total{method="join-token"';
  const issued = 'signet_certificates_issued_total{kind="instance"}';
  let instance: Awaited<ReturnType<typeof register>> | undefined;
  const begin = async () => {
    instance = await register(world, 'm-1');
  };
  t.deepEqual(await counted(begin, ...metrics), { [`${attested},outcome="granted"}`]: 1, [issued]: 1 });
  if (instance === undefined) return t.fail();
  const first = instance;
  let second: typeof first | undefined;
  const next = async () => {
    second = await refresh(world, first);
  };
  t.deepEqual(await counted(next, ...metrics), { [`${attested},outcome="granted"}`]: 1, [issued]: 1 });
  const refused = await counted(() => register(world, 'm-2', { attestationData: 'wrong' }), ...metrics);
  t.deepEqual(refused, { [`${attested},outcome="refused"}`]: 1 });
  const path = '/instance/sys.auth.server/media/player/m-1';
  const ended = await counted(() => admin(path, { method: 'DELETE' }), ...metrics);
  t.deepEqual(ended, { 'signet_certificates_revoked_total{reason="cessation-of-operation"}': 2 });
  t.deepEqual(await counted(() => refresh(world, second ?? first), ...metrics), {}, 'a revoked one gets nothing');
});

test.serial('certificates that an operator has made', async (t) => {
  const operator = await world.identity('sys.auth.operator');
  for (const [kind, name] of [
    ['user', 'user.jane'],
    ['service', 'media.studio'],
  ] as const) {
    const csr = requestPem(ecPair(), { commonNames: [name] });
    const issue = async () => {
      t.is((await operator(`/principal/${name}/certificate`, json({ csr }))).status, 200);
    };
    const series = `signet_certificates_issued_total{kind="${kind}"}`;
    t.deepEqual(await counted(issue, 'signet_certificates_issued_total'), { [series]: 1 });
  }
});

test.serial('signatures of bundles, each once', async (t) => {
  const get = () => asStudio('/domain/media/policy/signed');
  t.deepEqual(await counted(get, 'signet_bundle_signatures_total'), { signet_bundle_signatures_total: 1 });
  t.deepEqual(await counted(get, 'signet_bundle_signatures_total'), {});
});
