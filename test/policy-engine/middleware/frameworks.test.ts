import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ExpressMiddleware, protect as protectExpress } from '@signet/policy-engine/express';
import { protect as protectFastify } from '@signet/policy-engine/fastify';
import { protect as protectFetch } from '@signet/policy-engine/fetch';
import type { ProtectOptions } from '@signet/policy-engine/http';
import { protect as protectKoa } from '@signet/policy-engine/koa';
import type { Decision } from '@signet/policy-engine/policy';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import { decider } from '#support/decider';

const options: ProtectOptions = {
  engine: decider(),
  domains: ['catalog'],
  rule: ({ method, path }) => {
    const entity = /^\/(movie|series)$/.exec(path)?.[1];
    return entity === undefined
      ? undefined
      : { action: method === 'GET' ? 'read' : 'write', resource: `catalog:${entity}` };
  },
};

async function listen(t: ExecutionContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const doors: Record<string, (t: ExecutionContext) => Promise<(path: string, init?: RequestInit) => Promise<Response>>> =
  {
    koa: async (t) => {
      const app = new Koa().use(protectKoa(options)).use((ctx) => {
        if ('own' in ctx.query) ctx.set('Cache-Control', 'max-age=5');
        ctx.vary('Accept');
        ctx.body = { served: 'signet' in ctx.state };
      });
      const base = await listen(t, app.callback());
      return (path, init) => fetch(base + path, init);
    },
    express: async (t) => {
      const app = express().use(protectExpress(options), (request, response) => {
        if ('own' in request.query) response.set('Cache-Control', 'max-age=5');
        response.vary('Accept');
        response.json({ served: 'signet' in response.locals });
      });
      const base = await listen(t, app);
      return (path, init) => fetch(base + path, init);
    },
    fastify: async (t) => {
      const app = fastify();
      app.addHook('onRequest', async (_request, reply) => void reply.header('Vary', 'Accept'));
      app.addHook('onRequest', protectFastify(options));
      app.all('/*', async (request, reply) => {
        if (request.url.endsWith('?own')) reply.header('Cache-Control', 'max-age=5');
        return { served: 'signet' in request };
      });
      const base = await app.listen({ port: 0, host: '127.0.0.1' });
      t.teardown(() => app.close());
      return (path, init) => fetch(base + path, init);
    },
    fetch: async () => {
      const serve = (request: Request, decision: Decision) => {
        const own = request.url.endsWith('?own') ? { 'Cache-Control': 'max-age=5' } : {};
        return Response.json({ served: decision.status === 'ALLOW' }, { headers: { Vary: 'Accept', ...own } });
      };
      const handler = protectFetch(serve, { ...options, peer: () => ({}) });
      return (path, init) => handler(new Request(`https://provider.example${path}`, init));
    },
  };

const insufficient = 'Bearer error="insufficient_scope", error_description="access is not granted"';

const bearer = (role: string) => ({ headers: { authorization: `Bearer ${role}` } });

for (const [name, open] of Object.entries(doors)) {
  test(`${name}: allowed, refused, missing, unknown`, async (t) => {
    const call = await open(t);
    const answers = [
      await call('/movie', bearer('reader')),
      await call('/movie?x=1', { headers: { 'svc-role-auth': 'reader' } }),
      await call('/series', bearer('reader')),
      await call('/movie', { method: 'PUT', ...bearer('reader') }),
      await call('/movie'),
      await call('/other', bearer('reader')),
    ];
    const seen = await Promise.all(
      answers.map(async (answer) => [answer.status, await answer.json(), answer.headers.get('www-authenticate')]),
    );
    t.deepEqual(seen, [
      [200, { served: true }, null],
      [200, { served: true }, null],
      [403, { code: 403, message: 'access is not granted' }, insufficient],
      [403, { code: 403, message: 'access is not granted' }, insufficient],
      [403, { code: 403, message: 'a token is required' }, 'Bearer'],
      [404, { code: 404, message: 'unknown endpoint' }, null],
    ]);
  });

  test(`${name}: no answer is for a shared cache unless the service says so`, async (t) => {
    const call = await open(t);
    const answers = [
      await call('/movie', bearer('reader')),
      await call('/movie?own', bearer('reader')),
      await call('/movie', bearer('stranger')),
      await call('/movie'),
      await call('/other', bearer('reader')),
    ];
    t.deepEqual(
      answers.map(({ headers }) => headers.get('cache-control')),
      ['no-store', 'max-age=5', 'no-store', 'no-store', 'no-store'],
    );
    for (const [index, { headers }] of answers.entries()) {
      const vary = (headers.get('vary') ?? '').toLowerCase().split(', ');
      t.true(vary.includes('svc-role-auth') && vary.includes('authorization'), `${index}: ${vary}`);
      if (index < 2) t.true(vary.includes('accept'), `${index}: ${vary}`);
    }
  });
}

/** Express 4 ignores the promise of a middleware. */
const failures: Readonly<Record<string, { rule?: ProtectOptions['rule']; set?: () => never }>> = {
  'a rule that throws': {
    rule: () => {
      throw new Error('expected');
    },
  },
  'an answer that has begun': {
    set: () => {
      throw new Error('expected');
    },
  },
};

for (const [name, { rule = options.rule, set }] of Object.entries(failures)) {
  test(`express: ${name} is told to the next error handler, and no promise rejects`, async (t) => {
    const request = {
      method: 'GET',
      url: '/movie',
      originalUrl: '/movie',
      rawHeaders: ['Authorization', 'Bearer reader'],
      socket: {},
    };
    const response: Parameters<ExpressMiddleware>[1] = {
      locals: {},
      status: () => response,
      set: set ?? (() => response),
      vary: () => response,
      json: () => t.fail(),
    };
    const told: unknown[] = [];
    await protectExpress({ ...options, rule })(request, response, (error) => told.push(error));
    t.is(told.length, 1);
    t.like(told[0], { message: 'expected' });
  });
}

const added = 'svc-role-auth, athenz-role-auth, authorization';
const thrown: readonly (readonly [note: string, own: object | undefined, cacheControl: string, vary: string])[] = [
  ['no headers', undefined, 'no-store', added],
  ['others', { Allow: 'GET' }, 'no-store', added],
  ['its own', { 'cache-control': 'max-age=9', vary: 'Accept' }, 'max-age=9', `Accept, ${added}`],
  ['these already', { 'Cache-Control': 'no-store', Vary: added }, 'no-store', added],
];

for (const [note, own, cacheControl, vary] of thrown) {
  test(`koa: the answer to an error with ${note} is for no shared cache either`, async (t) => {
    const error = Object.assign(new Error('gone'), { status: 404, ...(own && { headers: own }) });
    const app = new Koa().use(protectKoa(options)).use(() => Promise.reject(error));
    app.silent = true;
    const base = await listen(t, app.callback());
    for (const _ of [1, 2]) {
      const { status, headers } = await fetch(`${base}/movie`, bearer('reader'));
      t.deepEqual([status, headers.get('cache-control'), headers.get('vary')], [404, cacheControl, vary]);
    }
  });
}

test('koa: what is thrown and is no error, or cannot be changed, stays as it is', async (t) => {
  const frozen = Object.freeze(new Error('frozen'));
  for (const what of ['text', undefined, frozen]) {
    const socket = {};
    const context = {
      req: { method: 'GET', url: '/movie', rawHeaders: ['authorization', 'Bearer reader'], socket },
      state: {},
      status: 0,
      body: undefined,
      set: () => undefined,
      vary: () => undefined,
    };
    const told = await protectKoa(options)(context, () => Promise.reject(what)).catch((error: unknown) => [error]);
    t.deepEqual(told, [what]);
  }
});

test('fetch: an answer whose headers cannot be changed is copied', async (t) => {
  const handler = protectFetch(() => Response.redirect('https://provider.example/elsewhere', 307), {
    ...options,
    peer: () => ({}),
  });
  const answer = await handler(new Request('https://provider.example/movie', bearer('reader')));
  t.deepEqual(
    [answer.status, ...['location', 'cache-control', 'vary'].map((name) => answer.headers.get(name))],
    [307, 'https://provider.example/elsewhere', 'no-store', 'svc-role-auth, athenz-role-auth, authorization'],
  );
});

test('fetch: an answer that is given twice says what it varies with once', async (t) => {
  const same = new Response(null, { status: 204 });
  const handler = protectFetch(() => same, { ...options, peer: () => ({}) });
  const call = () => handler(new Request('https://provider.example/movie', bearer('reader')));
  await call();
  t.is((await call()).headers.get('vary'), 'svc-role-auth, athenz-role-auth, authorization');
});

/** Compile-time check as well: the decision has its type wherever the framework keeps it. */
const routes: Readonly<Record<string, (t: ExecutionContext) => Promise<string>>> = {
  koa: async (t) => {
    const routes = protectKoa({ engine: decider(), domains: ['catalog'] });
    const app = new Koa().use(routes.for('read', 'movie')).use((ctx) => {
      ctx.body = { role: ctx.state.signet?.role };
    });
    return listen(t, app.callback());
  },
  express: async (t) => {
    const routes = protectExpress({ engine: decider(), domains: ['catalog'] });
    const app = express().get('/movie', routes.for('read', 'movie'), (request, response) => {
      response.json({ role: request.signet?.role === response.locals.signet?.role && request.signet?.role });
    });
    return listen(t, app);
  },
  fastify: async (t) => {
    const routes = protectFastify({ engine: decider(), domains: ['catalog'] });
    const app = fastify();
    app.get('/movie', { onRequest: routes.for('read', 'movie') }, async (request) => ({ role: request.signet?.role }));
    t.teardown(() => app.close());
    return app.listen({ port: 0, host: '127.0.0.1' });
  },
};

for (const [name, open] of Object.entries(routes)) {
  test(`${name}: each route says what it asks for, and the handler has the decision`, async (t) => {
    const base = await open(t);
    const call = (role: string) => fetch(`${base}/movie`, { headers: { authorization: `Bearer ${role}` } });
    t.deepEqual(await (await call('reader')).json(), { role: 'reader' });
    t.is((await call('writer')).status, 403);
  });
}
