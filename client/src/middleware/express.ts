import { type ExpressRouting, expressRouting, type NodeRequest } from '@signet/policy-engine/http';
import { createGate, type RequireGrantOptions } from './require-grant.ts';

type ExpressRequest = NodeRequest & ExpressRouting;

/** The part of an Express response that the middleware uses. */
interface ExpressResponse {
  status(code: number): ExpressResponse;
  set(headers: Record<string, string>): ExpressResponse;
  vary(field: string): ExpressResponse;
  json(body: unknown): unknown;
}

/**
 * Express middleware, of one route or in front of all, that lets a request pass only when the token server grants it; else 400, 403 or 404 with
 * a `ResourceError`. Throws `PolicyEngineError('invalid-options')` when the served domains are not stated.
 */
export function requireGrant(
  options: RequireGrantOptions,
): (request: ExpressRequest, response: ExpressResponse, next: (error?: unknown) => void) => Promise<void> {
  const gate = createGate(options);
  return async function grantRequired(request, response, next) {
    try {
      const { headers, refusal } = await gate(request, expressRouting(request, grantRequired));
      const { Vary, ...others } = headers;
      response.set(others);
      if (Vary !== '') response.vary(Vary);
      if (refusal !== undefined) return void response.status(refusal.status).json(refusal.body);
    } catch (error) {
      // Express 4 looks at no promise: a rejection would end the process.
      return next(error);
    }
    next();
  };
}

export type { RequiredAccess, Rule, RuleInput } from '@signet/policy-engine/http';
export type { AccessChecker, RequireGrantOptions } from './require-grant.ts';
