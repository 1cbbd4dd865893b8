import type { NodeRequest } from '@signet/policy-engine/http';
import { createGate, type RequireGrantOptions } from './require-grant.ts';

/** The part of a Koa context that the middleware uses. */
interface KoaContext {
  readonly req: NodeRequest;
  status: number;
  body: unknown;
}

/** Koa middleware that lets a request pass only when the token server grants it; else 400, 403 or 404 with a `ResourceError`. */
export function requireGrant(
  options: RequireGrantOptions,
): (context: KoaContext, next: () => Promise<unknown>) => Promise<unknown> {
  const gate = createGate(options);
  return async (context, next) => {
    const refusal = await gate(context.req);
    if (refusal === undefined) return next();
    context.status = refusal.status;
    context.body = refusal.body;
    return undefined;
  };
}

export type { AccessChecker, Asked, RequireGrantOptions, RuleInput } from './require-grant.ts';
