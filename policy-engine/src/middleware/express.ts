import { authorize, type ProtectOptions } from './authorize.ts';
import { type NodeRequest, nodeRequests } from './node-request.ts';

/** Express keeps the target as received in `originalUrl`; `url` loses the mount path. */
interface ExpressRequest extends NodeRequest {
  readonly originalUrl: string;
}

/** The part of an Express response that the middleware uses. */
interface ExpressResponse {
  locals: object;
  status(code: number): ExpressResponse;
  set(headers: Record<string, string>): ExpressResponse;
  json(body: unknown): unknown;
}

/**
 * Express middleware that lets a request pass only when the engine answers ALLOW; the decision is then in
 * `res.locals.signet`. Everything else is answered here: 400, 401 (with `rfc6750`), 403 or 404 with a `ResourceError`.
 */
export function protect(
  options: ProtectOptions,
): (request: ExpressRequest, response: ExpressResponse, next: (error?: unknown) => void) => Promise<void> {
  const read = nodeRequests();
  return async (request, response, next) => {
    const outcome = await authorize({ ...read(request), target: request.originalUrl }, options);
    if (outcome.kind === 'allowed') {
      Object.assign(response.locals, { signet: outcome.decision });
      next();
    } else {
      response.status(outcome.status).set(outcome.headers).json(outcome.body);
    }
  };
}

export type { Asked, Decider, ProtectOptions, RuleInput } from './authorize.ts';
