import { type KoaRouting, koaRouting, type NodeRequest, throwInKoa } from '@signet/policy-engine/http';
import { createGate, type RequireGrantOptions } from './require-grant.ts';

/** The part of a Koa context that the middleware uses. */
interface KoaContext extends KoaRouting {
  readonly req: NodeRequest;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
  vary(field: string): void;
}

/**
 * Koa middleware, of one route or in front of all, that lets a request pass only when the token server grants it; else 400, 403 or 404 with a
 * `ResourceError`. Throws `PolicyEngineError('invalid-options')` when the served domains are not stated.
 */
export function requireGrant(
  options: RequireGrantOptions,
): (context: KoaContext, next: () => Promise<unknown>) => Promise<unknown> {
  const gate = createGate(options);
  return async function grantRequired(context, next) {
    const { headers, refusal } = await gate(context.req, koaRouting(context, grantRequired));
    const { Vary, ...others } = headers;
    context.set(others);
    if (Vary !== '') context.vary(Vary);
    if (refusal !== undefined) {
      context.status = refusal.status;
      context.body = refusal.body;
      return undefined;
    }
    try {
      return await next();
    } catch (error) {
      throwInKoa(error, headers);
    }
  };
}

export type { RequiredAccess, Rule, RuleInput } from '@signet/policy-engine/http';
export type { AccessChecker, RequireGrantOptions } from './require-grant.ts';
