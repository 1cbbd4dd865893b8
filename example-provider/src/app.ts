import type { Socket } from 'node:net';
import type { ResourceError } from '@signet/policy-engine/wire';
import Koa, { type Context, type Middleware } from 'koa';
import type { Logger } from 'pino';
import type { Endpoint } from './endpoints.ts';
import { AccessRefusedError, HttpError } from './http-error.ts';

interface AppDeps {
  readonly endpoints: readonly Endpoint[];
  /** Health of the policy, for `GET /healthz`; `isReady`: it can be decided by. */
  readonly health: () => { readonly isReady: boolean; readonly policy: unknown };
  /** True once the service was told to stop: balancers then take it out. */
  readonly isStopping: () => boolean;
  /** Connections that are not end with their answer: a new one is verified against the authorities of now. */
  readonly isTrusted: (connection: Socket) => boolean;
  readonly logger: Logger;
}

/**
 * The HTTP side: errors, health, and the endpoints. An endpoint that does not exist is 404 for everyone, a method that it does not have
 * 405, before any credential is looked at; then its pattern lets the request pass or not.
 */
export function createApp(deps: AppDeps): Koa {
  const app = new Koa();
  app.use((ctx, next) => {
    // The answer depends on the caller (RFC 9111 §5.2.2.5).
    ctx.set('Cache-Control', 'no-store');
    return next();
  });
  app.use(answerErrors(deps.logger));
  app.use(requireCurrentHandshake(deps));
  app.use(health(deps));
  app.use(dispatch(deps.endpoints));
  app.on('error', (error: Error) => deps.logger.error({ error: described(error) }, 'request failed'));
  return app;
}

/**
 * An authority was removed since the connection began. Whether its certificate leads to that one cannot be said, as Node does not keep the
 * chain that a client has sent: a good one is not refused as if it did. The connection ends, and the next handshake decides.
 */
function requireCurrentHandshake({ isTrusted }: AppDeps): Middleware {
  return (ctx, next) => {
    if (isTrusted(ctx.req.socket)) return next();
    const headers = { Connection: 'close', 'Retry-After': '1' };
    throw new HttpError(503, 'a client authority was removed: connect again', headers);
  };
}

/** The one place that turns an error into an answer. Each refusal is a line in the log, with the reason that the caller is not told. */
function answerErrors(logger: Logger): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const known = error instanceof HttpError ? error : new HttpError(500, 'internal error');
      if (error instanceof AccessRefusedError) logRefusal(logger, ctx, error);
      else if (known.status === 500)
        logger.error({ error: described(error), method: ctx.method, path: ctx.path }, 'request failed');
      ctx.status = known.status;
      ctx.set({ ...known.headers });
      ctx.body = { code: known.status, message: known.message } satisfies ResourceError;
    }
  };
}

function described(error: unknown): unknown {
  return error instanceof Error ? { name: error.name, message: error.message, stack: error.stack } : String(error);
}

function logRefusal(logger: Logger, ctx: Context, error: AccessRefusedError): void {
  const { method, path, ip } = ctx;
  logger.warn({ event: 'refused', status: error.status, reason: error.reason, method, path, ip }, 'access refused');
}

function health({ health: report, isStopping }: Pick<AppDeps, 'health' | 'isStopping'>): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== '/healthz') return next();
    if (!answers('GET', ctx.method)) throw methodNotAllowed(['GET']);
    const { isReady, policy } = report();
    const status = isStopping() ? 'stopping' : isReady ? 'ok' : 'no-policy';
    ctx.status = status === 'ok' ? 200 : 503;
    ctx.body = { status, policy };
  };
}

function dispatch(endpoints: readonly Endpoint[]): Middleware {
  const byPath = Map.groupBy(endpoints, (endpoint) => endpoint.path);
  return async (ctx) => {
    const here = byPath.get(ctx.path);
    if (here === undefined) throw new HttpError(404, 'unknown endpoint');
    const endpoint = here.find(({ method }) => answers(method, ctx.method));
    if (endpoint === undefined) throw methodNotAllowed(here.map(({ method }) => method));
    await endpoint.requireAccess(ctx, async () => endpoint.handle(ctx, async () => undefined));
  };
}

/** True if a route of the method answers a request: a `GET` route also answers `HEAD` (RFC 9110 §9.3.2); Koa leaves the body out. */
function answers(method: string, asked: string): boolean {
  return method === asked || (method === 'GET' && asked === 'HEAD');
}

function methodNotAllowed(methods: readonly string[]): HttpError {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return new HttpError(405, 'method not allowed', { Allow: allowed.join(', ') });
}
