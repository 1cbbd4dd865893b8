import { authorize, type ProtectOptions } from './authorize.ts';
import { type NodeRequest, nodeRequests } from './node-request.ts';

/** The part of a Fastify request that the hook uses. */
interface FastifyRequest {
  readonly raw: NodeRequest;
}

/** The part of a Fastify reply that the hook uses. */
interface FastifyReply {
  code(status: number): FastifyReply;
  headers(values: Record<string, string>): FastifyReply;
  send(body: unknown): unknown;
}

/**
 * A Fastify `onRequest` hook, for one route or for all, that lets a request pass only when the engine answers ALLOW; the
 * decision is then in `request.signet`. Everything else is answered here: 400, 401 (with `rfc6750`), 403 or 404 with a `ResourceError`.
 */
export function protect(options: ProtectOptions): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> {
  const read = nodeRequests();
  return async (request, reply) => {
    const outcome = await authorize(read(request.raw), options);
    if (outcome.kind === 'allowed') {
      Object.assign(request, { signet: outcome.decision });
      return undefined;
    }
    return reply.code(outcome.status).headers(outcome.headers).send(outcome.body);
  };
}

export type { Asked, Decider, ProtectOptions, RuleInput } from './authorize.ts';
