import type { NodeRequest } from '@signet/policy-engine/http';
import { createGate, type RequireGrantOptions } from './require-grant.ts';

/** Express keeps the target as received in `originalUrl`; `url` loses the mount path. */
interface ExpressRequest extends NodeRequest {
  readonly originalUrl: string;
}

/** The part of an Express response that the middleware uses. */
interface ExpressResponse {
  status(code: number): ExpressResponse;
  json(body: unknown): unknown;
}

/** Express middleware that lets a request pass only when the token server grants it; else 400, 403 or 404 with a `ResourceError`. */
export function requireGrant(
  options: RequireGrantOptions,
): (request: ExpressRequest, response: ExpressResponse, next: (error?: unknown) => void) => Promise<void> {
  const gate = createGate(options);
  return async (request, response, next) => {
    const refusal = await gate(request, request.originalUrl);
    if (refusal === undefined) next();
    else response.status(refusal.status).json(refusal.body);
  };
}

export type { AccessChecker, Asked, RequireGrantOptions, RuleInput } from './require-grant.ts';
