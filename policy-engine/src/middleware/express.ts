import { createAuthorizer, type ProtectOptions } from './authorize.ts';
import { type NodeRequest, nodeRequests } from './node-request.ts';
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

/**
 * Express middleware, of one route or in front of all, that lets a request pass only when the engine answers ALLOW; the decision is
 * then in `res.locals.signet`. Everything else is answered here: 400, 401 (with `rfc6750`), 403 or 404 with a `ResourceError`.
 * Throws `PolicyEngineError('invalid-options')` when nobody said which domains are served.
 */
export function protect(
  options: ProtectOptions,
): (request: ExpressRequest, response: ExpressResponse, next: (error?: unknown) => void) => Promise<void> {
  const read = nodeRequests(options);
  const authorize = createAuthorizer(options);
  return async function protectedBySignet(request, response, next) {
    const outcome = await authorize({ ...read(request), ...expressRouting(request, protectedBySignet) });
    const { Vary, ...headers } = outcome.headers;
    response.set(headers);
    response.vary(Vary);
    if (outcome.kind === 'allowed') {
      Object.assign(response.locals, { signet: outcome.decision });
      next();
    } else {
      response.status(outcome.status).json(outcome.body);
    }
  };
}

export type { Decider, ProtectOptions } from './authorize.ts';
export type { RequiredAccess, Rule, RuleInput } from './request-rule.ts';
