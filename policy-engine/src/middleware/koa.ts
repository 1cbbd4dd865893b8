import type { Decision } from '../policy/index.ts';
import { createAuthorizer, type ProtectOptions } from './authorize.ts';
import { type NodeRequest, nodeRequests } from './node-request.ts';
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

/**
 * Koa middleware, of one route or in front of all, that lets a request pass only when the engine answers ALLOW; the decision is
 * then in `ctx.state.signet`. Everything else is answered here: 400, 401 (with `rfc6750`), 403 or 404 with a `ResourceError`.
 * Throws `PolicyEngineError('invalid-options')` when nobody said which domains are served.
 */
export function protect(
  options: ProtectOptions,
): (context: KoaContext, next: () => Promise<unknown>) => Promise<unknown> {
  const read = nodeRequests(options);
  const authorize = createAuthorizer(options);
  return async function protectedBySignet(context, next) {
    const outcome = await authorize({ ...read(context.req), ...koaRouting(context, protectedBySignet) });
    const { Vary, ...headers } = outcome.headers;
    context.set(headers);
    context.vary(Vary);
    if (outcome.kind === 'allowed') {
      Object.assign(context.state, { signet: outcome.decision satisfies Decision });
      return next();
    }
    context.status = outcome.status;
    context.body = outcome.body;
    return undefined;
  };
}

export type { Decider, ProtectOptions } from './authorize.ts';
export type { RequiredAccess, Rule, RuleInput } from './request-rule.ts';
