import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { SignetClientError, secureServerOptions } from '@signet/client';
import { type AccessChecker, requireGrant as forExpress, type RequireGrantOptions } from '@signet/client/express';
import { requireGrant as forFastify } from '@signet/client/fastify';
import { requireGrantUpgrade } from '@signet/client/http';
import { requireGrant as forKoa } from '@signet/client/koa';
import { certificateThumbprint } from '@signet/policy-engine/token';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import { Agent, request } from 'undici';
import { temporaryFolder } from '#support/temp';
import { makePki, type TestIdentity, type TestPki } from './support/pki.ts';

const revoked = new Set<string>();

const access: AccessChecker = {
  check: async ({ action, resource, principal, thumbprint = '', principalToken }) => {
    if (revoked.has(thumbprint)) return false;
    if (principalToken === 'broken') throw new SignetClientError('refused', 'the server answered 401');
    if (resource === 'catalog:down') throw new SignetClientError('unreachable', 'gone');
    return action === 'read' && (principal ?? principalToken) === 'media.player';
  },
};

const rule: RequireGrantOptions['rule'] = ({ method, path }) => {
  const entity = /^\/(movie|down)$/.exec(path)?.[1];
  return entity === undefined
    ? undefined
    : { action: method === 'GET' ? 'read' : 'write', resource: `catalog:${entity}` };
};

interface Tls {
  readonly pki: TestPki;
  readonly server: TestIdentity;
}

const frameworks: Readonly<Record<string, (options: RequireGrantOptions, tls: Tls) => Promise<RequestListener>>> = {
  koa: async (options) => {
    const app = new Koa().use((context, next) => {
      context.vary('Accept');
      return next();
    });
    app.use(forKoa(options)).use((context) => {
      if (context.path === '/movie' && context.search !== '') context.set('Cache-Control', 'max-age=9');
      context.body = { path: context.path };
    });
    return app.callback();
  },
  express: async (options) =>
    express()
      .use((_seen, response, next) => next(void response.vary('Accept')))
      .use(forExpress(options))
      .use((seen, response) => {
        if (seen.url !== seen.path) response.set('Cache-Control', 'max-age=9');
        response.json({ path: seen.path });
      }),
  fastify: async (options) => {
    const app = fastify();
    app.addHook('onRequest', async (_seen, reply) => void reply.header('Vary', 'Accept'));
    app.addHook('onRequest', forFastify(options));
    app.all('/*', async (seen, reply) => {
      if (seen.url.includes('?')) reply.header('Cache-Control', 'max-age=9');
      return { path: seen.url };
    });
    await app.ready();
    return (seen, response) => app.routing(seen, response);
  },
};

async function start(t: ExecutionContext, name: string, by: RequireGrantOptions['by']) {
  const pki = await makePki(temporaryFolder(t));
  const server = await pki.issue('catalog.api', ['localhost']);
  const reasons: string[] = [];
  const options = { access, by, rule, domains: ['catalog'], onRefusal: (reason: string) => void reasons.push(reason) };
  const listener = await frameworks[name]?.(options, { pki, server });
  const listening = createServer(
    {
      cert: server.cert,
      key: server.key,
      ca: pki.ca,
      ...secureServerOptions,
      requestCert: true,
      rejectUnauthorized: false,
    },
    listener,
  );
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    listening.closeAllConnections();
    listening.close();
  });
  const address = listening.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const call = async (
    path: string,
    more: { method?: 'PUT'; headers?: Record<string, string | string[]>; as?: TestIdentity } = {},
  ) => {
    const { as, headers = {}, method = 'GET' } = more;
    const dispatcher = new Agent({ connect: { ca: pki.ca, ...(as && { cert: as.cert, key: as.key }) } });
    t.teardown(() => dispatcher.close());
    const url = `https://localhost:${port}${path}`;
    const { statusCode, headers: answered, body } = await request(url, { method, headers, dispatcher });
    // Private answers: the service's own, and all refusals, which no shared cache may give to another caller.
    const own = statusCode === 200 && path.includes('?');
    t.is(answered['cache-control'], own ? 'max-age=9' : 'no-store', path);
    const vary = by === 'certificate' ? 'accept' : 'accept, svc-principal-auth, athenz-principal-auth';
    t.is(String(answered['vary']).toLowerCase(), vary, path);
    const { code, message } = (await body.json()) as { code?: number; message?: string };
    return [statusCode, code, message];
  };
  return { pki, call, reasons };
}

const passes = [200, undefined, undefined];
const notGranted = [403, 403, 'access is not granted'];

for (const name of Object.keys(frameworks)) {
  test(`${name}: a principal token`, async (t) => {
    const { call, reasons } = await start(t, name, 'principal-token');
    const as = (token: string | string[]) => ({ headers: { 'svc-principal-auth': token } });
    const missing = [403, 403, 'one principal token is required'];
    t.deepEqual(await call('/movie', as('media.player')), passes);
    t.deepEqual(await call('/movie?x=1', as('media.player')), passes);
    t.deepEqual(await call('/movie', as('media.guest')), notGranted);
    t.deepEqual(await call('/movie', { ...as('media.player'), method: 'PUT' }), notGranted);
    t.deepEqual(await call('/movie'), missing);
    t.deepEqual(await call('/movie', as(['media.player', 'media.player'])), missing);
    t.deepEqual(await call('/movie', as('broken')), notGranted);
    t.deepEqual(await call('/down', as('media.player')), notGranted);
    t.deepEqual(await call('/other', as('media.player')), [404, 404, 'unknown endpoint']);
    t.deepEqual(await call('/x/..%2fmovie', as('media.player')), [400, 400, 'path is not in canonical form']);
    t.deepEqual(reasons, ['not granted', 'not granted', 'no answer: the server answered 401', 'no answer: gone']);
  });

  test(`${name}: a certificate`, async (t) => {
    const { pki, call } = await start(t, name, 'certificate');
    const missing = [403, 403, 'a service certificate is required'];
    const none = [403, 403, 'the request came without a client certificate'];
    const invalid = [403, 403, 'the client certificate of the request is not valid here'];
    t.deepEqual(await call('/movie', { as: await pki.issue('media.player') }), passes);
    t.deepEqual(await call('/movie', { as: await pki.issue('media.guest') }), notGranted);
    t.deepEqual(await call('/movie', { as: await pki.issue('catalog:role.reader') }), missing);
    t.deepEqual(await call('/movie'), none);
    t.deepEqual(await call('/movie', { headers: { 'svc-principal-auth': 'media.player' } }), none);
    const stranger = await (await makePki(temporaryFolder(t), 'other')).issue('media.player');
    t.deepEqual(await call('/movie', { as: stranger }), invalid);
    const [old, current] = [await pki.issue('media.player'), await pki.issue('media.player')];
    revoked.add(certificateThumbprint(old.cert));
    t.deepEqual(await call('/movie', { as: old }), notGranted);
    t.deepEqual(await call('/movie', { as: current }), passes);
  });
}

test('an upgrade passes only when it is granted, and is answered otherwise', async (t) => {
  const pki = await makePki(temporaryFolder(t));
  const server = await pki.issue('catalog.api', ['localhost']);
  const failing = ({ path }: { path: string }) => {
    if (path === '/fails') throw new Error('secret');
    return rule({ method: 'GET', path });
  };
  const admit = requireGrantUpgrade({ access, by: 'certificate', rule: failing, domains: ['catalog'] });
  const tls = { cert: server.cert, key: server.key, ca: pki.ca, requestCert: true, rejectUnauthorized: false };
  const listening = createServer({ ...tls, ...secureServerOptions });
  listening.on('upgrade', async (seen, socket) => {
    const listeners = socket.listenerCount('error');
    if (!(await admit(seen, socket))) return;
    const kept = socket.listenerCount('error') - listeners;
    socket.end(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello ${kept}`);
  });
  listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  t.teardown(() => listening.close());
  const address = listening.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const upgrade = async (path: string, as: TestIdentity): Promise<string[]> => {
    const socket = connect({
      host: '127.0.0.1',
      servername: 'localhost',
      port,
      ca: pki.ca,
      cert: as.cert,
      key: as.key,
    });
    await once(socket, 'secureConnect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`);
    const answer = await text(socket);
    return [answer.slice(9, 12), answer.split('\r\n\r\n')[1] ?? ''];
  };
  const refused = (code: number, message: string) => [String(code), JSON.stringify({ code, message })];
  const player = await pki.issue('media.player');
  t.deepEqual(await upgrade('/movie', player), ['101', 'hello 0']);
  t.deepEqual(await upgrade('/movie', await pki.issue('media.guest')), refused(403, 'access is not granted'));
  t.deepEqual(await upgrade('/MOVIE', player), refused(400, 'path is ambiguous'));
  t.deepEqual(await upgrade('/other', player), refused(404, 'unknown endpoint'));
  t.deepEqual(await upgrade('/fails', player), refused(500, 'internal error'));
});

test('express: a rule that throws is told to the next error handler, and no promise rejects', async (t) => {
  const failing = () => {
    throw new Error('expected');
  };
  const seen = { method: 'GET', url: '/movie', originalUrl: '/movie', rawHeaders: [], socket: {} };
  const response = { status: () => response, set: () => response, vary: () => response, json: () => t.fail() };
  const told: unknown[] = [];
  const middleware = forExpress({ access, by: 'certificate', rule: failing, domains: ['catalog'] });
  // Express 4 ignores the promise of a middleware.
  await middleware(seen, response, (error) => told.push(error));
  t.is(told.length, 1);
  t.like(told[0], { message: 'expected' });
});

test('koa: the answer to an error is for no shared cache, and varies with what says who calls', async (t) => {
  const rawHeaders = ['svc-principal-auth', 'media.player'];
  const expected = {
    'principal-token': { 'Cache-Control': 'no-store', Vary: 'svc-principal-auth, athenz-principal-auth' },
    certificate: { 'Cache-Control': 'no-store' },
  };
  const player = await makePki(temporaryFolder(t)).then((pki) => pki.issue('media.player'));
  const socket = {
    authorized: true,
    getProtocol: () => 'TLSv1.3',
    getPeerX509Certificate: () => new X509Certificate(player.cert),
  };
  for (const by of ['principal-token', 'certificate'] as const) {
    const context = {
      req: { method: 'GET', url: '/movie', rawHeaders, socket },
      status: 0,
      body: undefined,
      set: () => undefined,
      vary: () => undefined,
    };
    const failing = Object.assign(new Error('gone'), { headers: {} });
    const middleware = forKoa({ access, by, rule, domains: ['catalog'] });
    t.is(await t.throwsAsync(middleware(context, () => Promise.reject(failing))), failing);
    t.deepEqual(failing.headers, expected[by] as object);
  }
});
