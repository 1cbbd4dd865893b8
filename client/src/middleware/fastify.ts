import { type FastifyRouting, fastifyRouting, type NodeRequest } from '@signet/policy-engine/http';
import { createGate, type RequireGrantOptions } from './require-grant.ts';

/** The part of a Fastify request that the hook uses. */
interface FastifyRequest extends FastifyRouting {
  readonly raw: NodeRequest;
}

/** The part of a Fastify reply that the hook uses. */
interface FastifyReply {
  code(status: number): FastifyReply;
  headers(values: Record<string, string>): FastifyReply;
  getHeader(name: string): unknown;
  send(body: unknown): unknown;
}

/**
 * A Fastify `onRequest` hook that lets a request pass only when the token server grants it; else 400, 403 or 404 with a `ResourceError`. Throws
 * `PolicyEngineError('invalid-options')` when the served domains are not stated.
 */
export function requireGrant(
  options: RequireGrantOptions,
): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> {
  const gate = createGate(options);
  return async (request, reply) => {
    const { headers, refusal } = await gate(request.raw, fastifyRouting(request));
    const { Vary, ...others } = headers;
    const fields = [reply.getHeader('vary'), Vary].filter((names) => names !== undefined && names !== '');
    reply.headers({ ...others, ...(fields.length > 0 && { Vary: fields.join(', ') }) });
    return refusal === undefined ? undefined : reply.code(refusal.status).send(refusal.body);
  };
}

export type { RequiredAccess, Rule, RuleInput } from '@signet/policy-engine/http';
export type { AccessChecker, RequireGrantOptions } from './require-grant.ts';
