import type { Decision } from '../policy/index.ts';
import { createAuthorizer } from './authorize.ts';
import { type NodeRequest, nodeRequests } from './node-request.ts';
import { perRoute, type RouteProtection, type SharedOptions } from './per-route.ts';
import type { ProtectOptions } from './protect-options.ts';
import { type ExpressRouting, expressRouting } from './routing.ts';

type ExpressRequest = NodeRequest & ExpressRouting;

/** The part of an Express response that the middleware uses. */
interface ExpressResponse {
  locals: object;
  status(code: number): ExpressResponse;
  set(headers: Record<string, string>): ExpressResponse;
  vary(field: string): ExpressResponse;
  json(body: unknown): unknown;
}

declare global {
  namespace Express {
    interface Request {
      /** The decision that let the request pass. */
      signet?: Decision;
    }
    interface Locals {
      signet?: Decision;
    }
  }
}

/** Signature of Express middleware. */
export type ExpressMiddleware = (
  request: ExpressRequest,
  response: ExpressResponse,
  next: (error?: unknown) => void,
) => Promise<void>;

/**
 * Express middleware, of one route or in front of all, that lets a request pass only when the engine answers ALLOW; the decision is then in
 * `req.signet` and `res.locals.signet`. Everything else is answered here: 400, 401 (with `rfc6750`), 403 or 404 with a `ResourceError`. Without
 * `rule` it answers `{ for(action, resource) }`, which makes the middleware of each route. Throws `PolicyEngineError('invalid-options')` for
 * wrong options, and when the served domains are not stated.
 */
export function protect(options: SharedOptions): RouteProtection<ExpressMiddleware>;
export function protect(options: ProtectOptions): ExpressMiddleware;
export function protect(
  options: ProtectOptions | SharedOptions,
): ExpressMiddleware | RouteProtection<ExpressMiddleware> {
  return options.rule === undefined ? perRoute(options, middleware) : middleware(options);
}

function middleware(options: ProtectOptions, read = nodeRequests(options)): ExpressMiddleware {
  const authorize = createAuthorizer(options);
  return async function protectedBySignet(request, response, next) {
    try {
      const outcome = await authorize({ ...read(request), ...expressRouting(request, protectedBySignet) });
      const { Vary, ...headers } = outcome.headers;
      response.set(headers);
      response.vary(Vary);
      if (outcome.kind === 'refused') return void response.status(outcome.status).json(outcome.body);
      Object.assign(response.locals, { signet: outcome.decision });
      Object.assign(request, { signet: outcome.decision });
    } catch (error) {
      // Express 4 looks at no promise: a rejection would end the process.
      return next(error);
    }
    next();
  };
}

export type { RouteProtection, SharedOptions } from './per-route.ts';
export type { Decider, ProtectOptions } from './protect-options.ts';
export type { OnRefusal, Refusal } from './refusal.ts';
export type { RequiredAccess, Rule, RuleInput } from './request-rule.ts';
