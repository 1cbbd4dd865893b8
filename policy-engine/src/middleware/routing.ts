import { canonicalPath } from './canonical-path.ts';
import type { SeenRequest } from './request-rule.ts';

/** Framework's knowledge of the way that a request takes to its handler. */
type Routing = Pick<SeenRequest, 'route' | 'routedTarget'> & { readonly target?: string };

/** The part of an Express request that says where it goes. */
export interface ExpressRouting {
  /** URL as received; `url` loses the mount path. */
  readonly originalUrl: string;
  readonly url?: string | undefined;
  /** Prefix cut off by the routers that it is mounted in, as received. */
  readonly baseUrl?: string;
  /** The last route that matched, which may be one before this middleware. */
  readonly route?: unknown;
}

/** The pattern is known when `middleware` stands on the route itself; of a mounted router with the mount path in front. */
export function expressRouting(request: ExpressRouting, middleware: unknown): Routing {
  const { originalUrl, url = originalUrl, baseUrl = '', route } = request;
  const path = member(route, 'path');
  const isHere = listOf(member(route, 'stack')).some((layer) => member(layer, 'handle') === middleware);
  const mount = baseUrl === '' ? '' : canonicalPath(baseUrl)?.toLowerCase();
  const pattern = isHere && typeof path === 'string' && mount !== undefined ? { route: mount + path } : {};
  return { target: originalUrl, routedTarget: baseUrl + url, ...pattern };
}

/** The part of a Koa context that says where it goes; all but the path is set by `@koa/router`. */
export interface KoaRouting {
  readonly path?: string;
  readonly router?: unknown;
  readonly newRouterPath?: unknown;
  readonly _matchedRoute?: unknown;
}

/** The pattern is known when `middleware` stands on a route of `@koa/router`. */
export function koaRouting(context: KoaRouting, middleware: unknown): Routing {
  const { newRouterPath, _matchedRoute: route } = context;
  const isHere = listOf(member(context.router, 'stack')).some((layer) => isRouteOf(layer, route, middleware));
  return {
    ...(typeof newRouterPath === 'string' && { routedTarget: newRouterPath }),
    ...(isHere && typeof route === 'string' && { route }),
  };
}

/** A layer without methods is one of `router.use`, whose path is only how its routes begin. */
function isRouteOf(layer: unknown, route: unknown, middleware: unknown): boolean {
  const isRoute = member(layer, 'path') === route && listOf(member(layer, 'methods')).length > 0;
  return isRoute && listOf(member(layer, 'stack')).includes(middleware);
}

/** The part of a Fastify request that says where it goes. */
export interface FastifyRouting {
  readonly routeOptions?: { readonly url?: string | undefined };
}

/** Fastify has found the route before any hook runs. */
export function fastifyRouting({ routeOptions }: FastifyRouting): Routing {
  return routeOptions?.url === undefined ? {} : { route: routeOptions.url };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function member(value: unknown, name: string): unknown {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
    ? Reflect.get(value, name)
    : undefined;
}
