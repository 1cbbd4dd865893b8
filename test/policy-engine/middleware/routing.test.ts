import { expressRouting, fastifyRouting, koaRouting } from '@signet/policy-engine/http';
import test from 'ava';

/* Reading of a framework's objects, with each of their members missing or of another kind. */

const own = () => undefined;
const other = () => undefined;
const route = { path: '/movie/:id', stack: [{ handle: other }, { handle: own }] };

const expressCases: [note: string, request: object, expected: object][] = [
  ['no route', { originalUrl: '/a' }, { routedTarget: '/a' }],
  ['a route that it stands on', { originalUrl: '/a', route }, { routedTarget: '/a', route: '/movie/:id' }],
  ['a route before it', { originalUrl: '/a', route: { ...route, stack: [{ handle: other }] } }, { routedTarget: '/a' }],
  [
    'a route without a list',
    { originalUrl: '/a', route: { path: '/a', stack: { handle: own } } },
    { routedTarget: '/a' },
  ],
  [
    'a list of nothing',
    { originalUrl: '/a', route: { path: '/a', stack: [null, undefined, 7, 'x'] } },
    { routedTarget: '/a' },
  ],
  ['a route by an expression', { originalUrl: '/a', route: { ...route, path: /a/ } }, { routedTarget: '/a' }],
  [
    'a mounted router',
    { originalUrl: '/V1/a', baseUrl: '/V1', url: '/a', route },
    { routedTarget: '/V1/a', route: '/v1/movie/:id' },
  ],
  [
    'a mount path that is not canonical',
    { originalUrl: '//x/a', baseUrl: '//x', url: '/a', route },
    { routedTarget: '//x/a' },
  ],
  [
    'a layer that is a function',
    { originalUrl: '/a', route: { path: '/a', stack: [Object.assign(() => undefined, { handle: own })] } },
    { routedTarget: '/a', route: '/a' },
  ],
  ['a rewritten address', { originalUrl: '/a', url: '/b' }, { routedTarget: '/b' }],
];
for (const [note, request, expected] of expressCases) {
  test(`express: ${note}`, (t) => {
    const { originalUrl } = request as { originalUrl: string };
    t.deepEqual<unknown, unknown>(expressRouting(request as never, own), { target: originalUrl, ...expected });
  });
}

const layer = { path: '/movie/:id', methods: ['GET'], stack: [other, own] };
const koaCases: [note: string, context: object, expected: object][] = [
  ['nothing', {}, {}],
  ['a route that it stands on', { router: { stack: [layer] }, _matchedRoute: '/movie/:id' }, { route: '/movie/:id' }],
  ['another route', { router: { stack: [layer] }, _matchedRoute: '/movie' }, {}],
  ['a layer without it', { router: { stack: [{ ...layer, stack: [other] }] }, _matchedRoute: '/movie/:id' }, {}],
  ['a layer without methods', { router: { stack: [{ ...layer, methods: [] }] }, _matchedRoute: '/movie/:id' }, {}],
  [
    'a layer whose methods must be an array',
    { router: { stack: [{ ...layer, methods: 'GET' }] }, _matchedRoute: '/movie/:id' },
    {},
  ],
  ['a route by an expression', { router: { stack: [{ ...layer, path: route.path }] }, _matchedRoute: /a/ }, {}],
  [
    'an expression that it stands on',
    (() => {
      const path = /a/;
      return { router: { stack: [{ ...layer, path }] }, _matchedRoute: path };
    })(),
    {},
  ],
  ['another path', { newRouterPath: '/b' }, { routedTarget: '/b' }],
  ['another path that is a number', { newRouterPath: 7 }, {}],
];
for (const [note, context, expected] of koaCases) {
  test(`koa: ${note}`, (t) => t.deepEqual<unknown, unknown>(koaRouting(context, own), expected));
}

test('fastify: the route is known when there is one', (t) => {
  t.deepEqual(fastifyRouting({}), {});
  t.deepEqual(fastifyRouting({ routeOptions: {} }), {});
  t.deepEqual(fastifyRouting({ routeOptions: { url: '/a/:b' } }), { route: '/a/:b' });
});
