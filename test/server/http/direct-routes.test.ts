import Router from '@koa/router';
import type { AppContext, Middleware, RequestState } from '@signet/server/http/context';
import { directRoutes } from '@signet/server/http/direct-routes';
import test from 'ava';

/** A small router that writes down what its handlers see. */
function routerInto(seen: unknown[]): Router<RequestState> {
  const router = new Router<RequestState>({ sensitive: true, strict: true });
  router.post(
    '/v1/oauth2/token',
    (_, next) => {
      seen.push('read');
      return next();
    },
    (ctx) => void seen.push({ token: ctx.params, route: ctx._matchedRoute }),
  );
  router.get(
    '/v1/domain/:domainName/policy/signed',
    (ctx) => void seen.push({ bundle: ctx.params, route: ctx._matchedRoute }),
  );
  router.get('/v1/forward', (_, next) => next());
  return router;
}

/** Request that handlers see, route that is noted, and methods that a 405 would name. */
async function ask(method: string, path: string, middlewareOf: (router: Router<RequestState>) => Middleware) {
  const seen: unknown[] = [];
  const own = { method, path, host: 'signet.example', request: {}, req: { method }, state: { path } };
  const ctx = own as unknown as AppContext;
  await middlewareOf(routerInto(seen))(ctx, async () => void seen.push('went on'));
  const matched = seen.includes('went on') ? ctx['matched'] : undefined;
  const layers: readonly { readonly methods: readonly string[] }[] = Array.isArray(matched) ? matched : [];
  const isForward = path === '/v1/forward';
  return { seen, route: ctx['_matchedRoute'], methods: isForward ? [] : layers.flatMap(({ methods }) => methods) };
}

const signed = '/v1/domain/catalog/policy/signed';
const paths = [
  '/v1/oauth2/token',
  '/v1/oauth2/token/',
  '/v1/OAUTH2/token',
  '/v1//oauth2/token',
  '/v1/oauth2%2Ftoken',
  '/oauth2/token',
  '/v1/oauth2/token/more',
  '/v1/oauth2/token\n',
  signed,
  `${signed}/`,
  '/v1/domain//policy/signed',
  '/v1/domain/a.b/policy/signed',
  '/v1/domain/a%2Eb/policy/signed',
  '/v1/domain/a%2Fb/policy/signed',
  '/v1/domain/%zz/policy/signed',
  '/v1/domain/a/b/policy/signed',
  '/v1/domain/__proto__/policy/signed',
  '/v1/forward',
  '/',
  '',
];

for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', 'get', 'BREW']) {
  test(`${method}: operations that are run at once see what the router would show them`, async (t) => {
    for (const path of paths) {
      const expected = await ask(method, path, (router) => router.routes() as Middleware);
      t.deepEqual(await ask(method, path, directRoutes), expected, path);
    }
  });
}

test('an operation is run with its handlers in their order', async (t) => {
  const { seen } = await ask('POST', '/v1/oauth2/token', directRoutes);
  t.deepEqual(seen, ['read', { token: {}, route: '/v1/oauth2/token' }]);
});
