import type Router from '@koa/router';
import type { Middleware, RequestState, RouteContext } from './context.ts';

type Layer = Router<RequestState>['stack'][number];
type Run = (ctx: RouteContext, next: () => Promise<unknown>) => unknown;

/**
 * A small router whose operations are run at once (docs/decisions/062). For each request, a dispatch by the router itself collects the layers of the path, decodes
 * its host and composes the handlers: twice what it takes to find the operation. INVARIANT: no two operations have a method and a path in
 * common. What none of them has is left to the router, which notes the methods of a path for a 405, and goes on.
 */
export function directRoutes(router: Router<RequestState>): Middleware {
  const operations = router.stack.map((layer) => ({ layer, run: chainOf(layer) }));
  const dispatch = router.routes();
  return (ctx, next) => {
    const { path } = ctx.state;
    const { method = '' } = ctx.req;
    const own = ctx as RouteContext;
    for (const { layer, run } of operations) {
      const params = layer.methods.includes(method) ? paramsOf(layer, path) : undefined;
      if (params === undefined) continue;
      own._matchedRoute = layer.path;
      own.params = params;
      return run(own, next);
    }
    return dispatch(own, next);
  };
}

/** The parameters of a path; undefined: it is another one. */
function paramsOf(layer: Layer, path: string): Record<string, string> | undefined {
  if (layer.paramNames.length === 0) return path === layer.path ? {} : undefined;
  const found = layer.regexp.exec(path);
  return found === null ? undefined : layer.params(path, found.slice(1));
}

/** The handlers of an operation as one. What they answer need be no promise: each waits for the rest, or hands it on. */
function chainOf({ stack }: Layer): Run {
  return stack.reduceRight<Run>(
    (rest, handler) => (ctx, next) => (handler as Run)(ctx, () => rest(ctx, next) as Promise<unknown>),
    (_, next) => next(),
  );
}
