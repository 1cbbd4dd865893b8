import type {} from 'koa';
import type { Decision } from '../policy/index.ts';
import { createAuthorizer } from './authorize.ts';
import { throwInKoa } from './koa-error.ts';
import { type NodeRequest, nodeRequests } from './node-request.ts';
import { perRoute, type RouteProtection, type SharedOptions } from './per-route.ts';
import type { ProtectOptions } from './protect-options.ts';
import { type KoaRouting, koaRouting } from './routing.ts';

/** The part of a Koa context that the middleware uses. */
interface KoaContext extends KoaRouting {
  readonly req: NodeRequest;
  state: object;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
  vary(field: string): void;
}

declare module 'koa' {
  interface DefaultState {
    /** The decision that let the request pass. */
    signet?: Decision;
  }
}

/** Signature of Koa middleware. */
export type KoaMiddleware = (context: KoaContext, next: () => Promise<unknown>) => Promise<unknown>;

/**
 * Koa middleware, of one route or in front of all, that lets a request pass only when the engine answers ALLOW; the decision is then in
 * `ctx.state.signet`. Everything else is answered here: 400, 401 (with `rfc6750`), 403 or 404 with a `ResourceError`. Without `rule` it answers
 * `{ for(action, resource) }`, which makes the middleware of each route. Throws `PolicyEngineError('invalid-options')` for wrong options, and
 * when the served domains are not stated.
 */
export function protect(options: SharedOptions): RouteProtection<KoaMiddleware>;
export function protect(options: ProtectOptions): KoaMiddleware;
export function protect(options: ProtectOptions | SharedOptions): KoaMiddleware | RouteProtection<KoaMiddleware> {
  return options.rule === undefined ? perRoute(options, middleware) : middleware(options);
}

function middleware(options: ProtectOptions, read = nodeRequests(options)): KoaMiddleware {
  const authorize = createAuthorizer(options);
  return async function protectedBySignet(context, next) {
    const outcome = await authorize({ ...read(context.req), ...koaRouting(context, protectedBySignet) });
    const { Vary, ...headers } = outcome.headers;
    context.set(headers);
    context.vary(Vary);
    if (outcome.kind === 'allowed') {
      Object.assign(context.state, { signet: outcome.decision satisfies Decision });
      try {
        return await next();
      } catch (error) {
        throwInKoa(error, outcome.headers);
      }
    }
    context.status = outcome.status;
    context.body = outcome.body;
    return undefined;
  };
}

export type { RouteProtection, SharedOptions } from './per-route.ts';
export type { Decider, ProtectOptions } from './protect-options.ts';
export type { OnRefusal, Refusal } from './refusal.ts';
export type { RequiredAccess, Rule, RuleInput } from './request-rule.ts';
