import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import Router from '@koa/router';
import { requireGrant as grantExpress } from '@signet/client/express';
import { requireGrant as grantFastify } from '@signet/client/fastify';
import { requireGrant as grantKoa } from '@signet/client/koa';
import { protect as protectExpress } from '@signet/policy-engine/express';
import { protect as protectFastify } from '@signet/policy-engine/fastify';
import {
  authorize,
  type ProtectOptions,
  RequestRule,
  type RequiredAccess,
  type RuleInput,
  type RuleOptions,
} from '@signet/policy-engine/http';
import { protect as protectKoa } from '@signet/policy-engine/koa';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';

/*
 * Agreement of rule and router on a path, which both read. A path that they read differently must not pass: here public things are for all
 * callers, the rest for none.
 */

const publicThing: RequiredAccess = { action: 'read', resource: 'catalog:public' };
const adminThing: RequiredAccess = { action: 'read', resource: 'catalog:admin' };
const rule = ({ path }: RuleInput): RequiredAccess => (path.startsWith('/admin') ? adminThing : publicThing);
const isPublic = (resource: string) => resource === 'catalog:public';

const engine: ProtectOptions['engine'] = {
  decide: async ({ resource }) => ({ status: isPublic(resource) ? 'ALLOW' : 'DENY_NO_MATCH' }),
};
const options: ProtectOptions = { engine, rule, domains: ['catalog'] };
const gate = {
  access: { check: async ({ resource }: RequiredAccess) => isPublic(resource) },
  by: 'principal-token' as const,
  rule,
  domains: ['catalog'],
};

async function listen(t: ExecutionContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

const headers = { authorization: 'Bearer any', 'svc-principal-auth': 'any' };
/** `admin` when the handler of `/admin` answered, else the status. */
async function ask(base: string, path: string): Promise<string | number> {
  const answer = await fetch(base + path, { headers });
  const text = await answer.text();
  return text === 'admin' ? 'admin' : answer.status;
}

async function fastifyHost(
  t: ExecutionContext,
  hook: ReturnType<typeof protectFastify>,
  routerOptions: { caseSensitive?: boolean; useSemicolonDelimiter?: boolean; ignoreDuplicateSlashes?: boolean },
): Promise<string> {
  const app = fastify({ routerOptions });
  app.addHook('onRequest', hook);
  app.get('/admin', async () => 'admin');
  app.get('/open/:id', async () => 'open');
  t.teardown(() => app.close());
  return app.listen({ port: 0, host: '127.0.0.1' });
}

/** Each with one middleware in front of all routes. */
const hosts: Readonly<Record<string, (t: ExecutionContext) => Promise<string>>> = {
  'express, protect': (t) => listen(t, expressHost(protectExpress(options))),
  'express, requireGrant': (t) => listen(t, expressHost(grantExpress(gate))),
  'koa, protect': (t) => listen(t, koaHost(protectKoa(options))),
  'koa, requireGrant': (t) => listen(t, koaHost(grantKoa(gate))),
  'fastify, protect': (t) => fastifyHost(t, protectFastify(options), folding),
  'fastify, requireGrant': (t) => fastifyHost(t, grantFastify(gate), folding),
};
const folding = { caseSensitive: false, useSemicolonDelimiter: true, ignoreDuplicateSlashes: true };

function expressHost(middleware: ReturnType<typeof protectExpress>): RequestListener {
  const app = express();
  app.use(middleware);
  app.get('/admin', (_request, response) => void response.send('admin'));
  app.get('/open/:id', (_request, response) => void response.send('open'));
  return app;
}

function koaHost(middleware: ReturnType<typeof protectKoa>): RequestListener {
  const router = new Router();
  router.get('/admin', (ctx) => {
    ctx.body = 'admin';
  });
  router.get('/open/:id', (ctx) => {
    ctx.body = 'open';
  });
  return new Koa().use(middleware).use(router.routes()).callback();
}

for (const [name, start] of Object.entries(hosts)) {
  test(`${name}: no spelling of a protected path passes as public`, async (t) => {
    const base = await start(t);
    const spellings: Readonly<Record<string, number>> = {
      '/admin': 403,
      '/ADMIN': 400,
      '/Admin/': 400,
      '/aDmin?x=1': 400,
      '/%41dmin': 400,
      '//admin': 400,
      '/x/../admin': 403, // fetch has resolved it
      '/admin;x=1': 403,
      '/ADMIN;x=1': 400,
      '/%61dmin': 400,
      '/;/admin': 404,
      '/admin%2f': 400,
    };
    for (const [path, status] of Object.entries(spellings)) t.is(await ask(base, path), status, path);
    t.is(await ask(base, '/open/ABC'), 200, 'where capitals make no difference they may stay');
  });
}

test('a rule that distinguishes capitals answers nobody, so that its author notices', async (t) => {
  const capitals = ({ path }: RuleInput) => (path.startsWith('/Admin') ? adminThing : publicThing);
  const app = express();
  app.use(protectExpress({ ...options, rule: capitals }));
  app.get('/Admin', (_request, response) => void response.send('admin'));
  const base = await listen(t, app);
  t.is(await ask(base, '/Admin'), 400);
});

test('a rule may distinguish capitals where the routes do', async (t) => {
  const capitals = ({ path }: RuleInput) => (path === '/getMovie' ? publicThing : undefined);
  const strict = express().set('case sensitive routing', true);
  strict.use(protectExpress({ ...options, rule: capitals, caseSensitive: true }));
  strict.get('/getMovie', (_request, response) => void response.send('movie'));
  const base = await listen(t, strict);
  t.is(await ask(base, '/getMovie'), 200);
  t.is(await ask(base, '/getmovie'), 404);
});

test('express: a URL that was rewritten before is read in both forms', async (t) => {
  const app = express();
  app.use((request, _response, next) => {
    request.url = request.url.replace('/hidden', '/admin').replace('/v1/', '/');
    next();
  });
  app.use(protectExpress(options));
  app.get('/admin', (_request, response) => void response.send('admin'));
  app.get('/open', (_request, response) => void response.send('open'));
  const base = await listen(t, app);
  t.is(await ask(base, '/hidden'), 400);
  t.is(await ask(base, '/v1/open'), 200);
});

test('koa: the path that the router was given is read as well', async (t) => {
  const router = new Router();
  router.get('/admin', (ctx) => {
    ctx.body = 'admin';
  });
  const app = new Koa();
  app.use((ctx, next) => {
    if (ctx.path === '/hidden') Object.assign(ctx, { newRouterPath: '/admin' });
    return next();
  });
  const base = await listen(t, app.use(protectKoa(options)).use(router.routes()).callback());
  t.is(await ask(base, '/hidden'), 400);
});

/** Recorder of the routes that rules saw. */
function recorder(): { seen: (string | undefined)[]; options: ProtectOptions } {
  const seen: (string | undefined)[] = [];
  const recording = ({ route }: RuleInput) => {
    seen.push(route);
    return publicThing;
  };
  return { seen, options: { ...options, rule: recording } };
}

test('express: a rule on a route gets its pattern, with the mount path; in front of all routes it gets none', async (t) => {
  const { seen, options: recording } = recorder();
  const protect = protectExpress(recording);
  const app = express();
  const answer = (_request: unknown, response: express.Response) => void response.send('ok');
  app.get('/passed/*rest', (_request, _response, next) => next());
  app.get('/movie/:id', protect, answer);
  app.get(/^\/regexp/, protect, answer);
  const mounted = express.Router();
  mounted.get('/film/:id', protect, answer);
  app.use('/Shop', mounted);
  app.use(protect, answer);
  const base = await listen(t, app);
  const paths = ['/movie/1', '/MOVIE/2', '/regexp', '/Shop/film/1', '/SHOP/FILM/2', '/passed/x', '/other'];
  for (const path of paths) {
    seen.splice(0);
    t.is(await ask(base, path), 200, path);
    const route = ['/movie/:id', '/movie/:id', undefined, '/shop/film/:id', '/shop/film/:id'][paths.indexOf(path)];
    t.deepEqual([...new Set(seen)], [route], path);
  }
});

test('koa: a rule on a route of the router gets its pattern; elsewhere it gets none', async (t) => {
  const { seen, options: recording } = recorder();
  const protect = protectKoa(recording);
  const answer = (ctx: { body: unknown }) => {
    ctx.body = 'ok';
  };
  const router = new Router({ prefix: '/shop' });
  router.get('/movie/:id', protect, answer);
  router.get('/movie/:other', answer);
  const guarded = new Router();
  guarded.use('/guarded', protect);
  guarded.get('/guarded/:id', answer);
  const app = new Koa().use(router.routes()).use(guarded.routes()).use(protect).use(answer);
  const base = await listen(t, app.callback());
  const routes = {
    '/shop/movie/1': '/shop/movie/:id',
    '/SHOP/Movie/2': '/shop/movie/:id',
    '/guarded/1': undefined,
    '/x': undefined,
  };
  for (const [path, route] of Object.entries(routes)) {
    seen.splice(0);
    t.is(await ask(base, path), 200, path);
    t.deepEqual([...new Set(seen)], [route], path);
  }
});

test('fastify: a rule gets the pattern of the route also in a hook for all of them', async (t) => {
  const { seen, options: recording } = recorder();
  const base = await fastifyHost(t, protectFastify(recording), folding);
  t.is(await ask(base, '/OPEN/1'), 200);
  t.deepEqual([...new Set(seen.splice(0))], ['/open/:id']);
  t.is(await ask(base, '/nowhere'), 404);
  t.deepEqual([...new Set(seen)], [undefined]);
});

test('koa over HTTP/2: what its router cuts off is not part of another path', async (t) => {
  const exact = ({ path }: RuleInput) => (path === '/admin' ? adminThing : publicThing);
  const app = new Koa().use(protectKoa({ ...options, rule: exact }));
  app.use((ctx) => {
    ctx.body = ctx.path;
  });
  const server = createHttp2Server(app.callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const session = connect(`http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`);
  t.teardown(() => {
    session.destroy();
    server.close();
  });
  const get = async (path: string) => {
    const stream = session.request({ ':path': path, authorization: 'Bearer any' });
    const [head] = await once(stream, 'response');
    stream.resume();
    return head[':status'];
  };
  t.is(await get('/open'), 200);
  t.is(await get('/admin'), 403);
  t.is(await get('/admin\u00a0'), 400);
});

test('fastify: nothing behind a slash is not what the path without it is', async (t) => {
  const lists = ({ path }: RuleInput) => (path === '/admin' ? publicThing : adminThing);
  const app = fastify();
  app.addHook('onRequest', protectFastify({ ...options, rule: lists }));
  app.get('/admin', async () => 'list');
  app.get('/admin/:id', async () => 'admin');
  t.teardown(() => app.close());
  const base = await app.listen({ port: 0, host: '127.0.0.1' });
  t.is(await ask(base, '/admin'), 200);
  t.is(await ask(base, '/admin/'), 400);
});

test('a constant rule on each route reads no path', async (t) => {
  const app = express();
  app.get('/admin', protectExpress({ engine, rule: adminThing }), (_request, response) => void response.send('admin'));
  app.get('/open', protectExpress({ engine, rule: publicThing }), (_request, response) => void response.send('open'));
  const base = await listen(t, app);
  for (const path of ['/admin', '/ADMIN', '/%61dmin']) t.not(await ask(base, path), 'admin');
  for (const path of ['/open', '/OPEN', '/Open/']) t.is(await ask(base, path), 200);
});

const unready: readonly [note: string, options: object, domains: readonly string[] | undefined][] = [
  ['a function and no domain', { rule }, undefined],
  ['a resource without a domain', { rule: { action: 'read', resource: 'movie' } }, undefined],
  ['a resource without a domain, of two', { rule: { action: 'read', resource: 'movie' } }, ['catalog', 'media']],
  ['a resource of a domain that is not served', { rule: publicThing, domains: ['media'] }, undefined],
  ['a domain that the engine does not serve', { rule, domains: ['media'] }, ['catalog']],
  ['no list', { rule, domains: 'catalog' }, undefined],
  ['an empty list', { rule, domains: [] }, ['catalog']],
  ['what is not a name', { rule, domains: ['a b'] }, undefined],
  ['no rule', {}, undefined],
  ['a rule without an action', { rule: { resource: 'catalog:x' } }, undefined],
];
for (const [note, given, domains] of unready) {
  test(`a middleware does not start: ${note}`, (t) => {
    const expected = { code: 'invalid-options' };
    const all = { engine: { ...engine, domains }, access: gate.access, by: gate.by, ...given };
    for (const start of [protectExpress, protectKoa, protectFastify]) {
      t.throws(() => Reflect.apply(start, undefined, [all]), expected);
    }
    // requireGrant has no engine that could be told
    if (domains !== undefined) return;
    for (const start of [grantExpress, grantKoa, grantFastify]) {
      t.throws(() => Reflect.apply(start, undefined, [all]), expected);
    }
  });
}

const ready: readonly [note: string, options: Partial<ProtectOptions>, domains: readonly string[] | undefined][] = [
  ['a function and a domain', { domains: ['catalog'] }, undefined],
  ['a function and the domain of the engine', {}, ['catalog']],
  ['a function and one of the domains of the engine', { domains: ['catalog'] }, ['catalog', 'media']],
  ['a resource with its domain', { rule: publicThing }, undefined],
  ['a resource without a domain, of one', { rule: { action: 'read', resource: 'public' } }, ['catalog']],
];
for (const [note, given, domains] of ready) {
  test(`a middleware starts: ${note}`, (t) => {
    t.notThrows(() => protectKoa({ engine: { ...engine, domains }, rule, ...given }));
  });
}

const resources: readonly [domains: readonly string[], resource: string, expected: string][] = [
  [['catalog'], 'movie', 'catalog:movie'],
  [['catalog'], 'catalog:movie', 'catalog:movie'],
  [['catalog'], 'CATALOG:movie', 'CATALOG:movie'],
  [['catalog'], 'evil:movie', 'DENY_DOMAIN_MISMATCH'],
  [['catalog', 'media'], 'media:movie', 'media:movie'],
  [['catalog', 'media'], 'movie', 'DENY_INVALID_PARAMETERS'],
];
for (const [domains, resource, expected] of resources) {
  test(`\`${resource}\` where ${domains.join()} is served: ${expected}`, async (t) => {
    const asked: string[] = [];
    const given: RuleOptions = { rule: () => ({ action: 'read', resource }), domains };
    const outcome = await authorize(
      { method: 'GET', target: '/x', header: () => ['any'], peer: {} },
      { ...given, engine: { decide: async (each) => ({ status: asked.push(each.resource) > 0 ? 'ALLOW' : 'DENY' }) } },
    );
    const read = new RequestRule(given).read({ method: 'GET', target: '/x' });
    if (expected.startsWith('DENY')) {
      t.like(outcome, { kind: 'refused', status: 403, decision: { status: expected } });
      t.like(read, { kind: 'denied', status: expected });
      t.deepEqual(asked, []);
    } else {
      t.is(outcome.kind, 'allowed');
      t.like(read, { kind: 'asked', asked: { action: 'read', resource: expected } });
      t.deepEqual(asked, [expected]);
    }
  });
}
