import type { Decision } from '../policy/index.ts';
import { authorize, type ProtectOptions } from './authorize.ts';
import { type NodeRequest, nodeRequests } from './node-request.ts';

/** The part of a Koa context that the middleware uses. */
interface KoaContext {
  readonly req: NodeRequest;
  state: object;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
}

/**
 * Koa middleware that lets a request pass only when the engine answers ALLOW; the decision is then in
 * `ctx.state.signet`. Everything else is answered here: 400, 401 (with `rfc6750`), 403 or 404 with a `ResourceError`.
 */
export function protect(
  options: ProtectOptions,
): (context: KoaContext, next: () => Promise<unknown>) => Promise<unknown> {
  const read = nodeRequests();
  return async (context, next) => {
    const outcome = await authorize(read(context.req), options);
    if (outcome.kind === 'allowed') {
      Object.assign(context.state, { signet: outcome.decision satisfies Decision });
      return next();
    }
    context.status = outcome.status;
    context.set(outcome.headers);
    context.body = outcome.body;
    return undefined;
  };
}

export type { Asked, Decider, ProtectOptions, RuleInput } from './authorize.ts';
