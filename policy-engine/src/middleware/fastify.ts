import type {} from 'fastify';
import type { Decision } from '../policy/index.ts';
import { createAuthorizer } from './authorize.ts';
import { type NodeRequest, nodeRequests } from './node-request.ts';
import { perRoute, type RouteProtection, type SharedOptions } from './per-route.ts';
import type { ProtectOptions } from './protect-options.ts';
import { type FastifyRouting, fastifyRouting } from './routing.ts';

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

declare module 'fastify' {
  interface FastifyRequest {
    /** The decision that let the request pass. */
    signet?: Decision;
  }
}

/** Signature of a Fastify `onRequest` hook. */
export type FastifyHook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/**
 * A Fastify `onRequest` hook, for one route or for all, that lets a request pass only when the engine answers ALLOW; the decision is then in
 * `request.signet`. Everything else is answered here: 400, 401 (with `rfc6750`), 403 or 404 with a `ResourceError`. Without `rule` it answers `{
 * for(action, resource) }`, which makes the hook of each route. Throws `PolicyEngineError('invalid-options')` for wrong options, and when the
 * served domains are not stated.
 */
export function protect(options: SharedOptions): RouteProtection<FastifyHook>;
export function protect(options: ProtectOptions): FastifyHook;
export function protect(options: ProtectOptions | SharedOptions): FastifyHook | RouteProtection<FastifyHook> {
  return options.rule === undefined ? perRoute(options, hook) : hook(options);
}

function hook(options: ProtectOptions, read = nodeRequests(options)): FastifyHook {
  const authorize = createAuthorizer(options);
  return async (request, reply) => {
    const outcome = await authorize({ ...read(request.raw), ...fastifyRouting(request) });
    reply.headers({ ...outcome.headers, Vary: withVary(reply.getHeader('vary'), outcome.headers.Vary) });
    if (outcome.kind === 'allowed') {
      Object.assign(request, { signet: outcome.decision });
      return undefined;
    }
    return reply.code(outcome.status).send(outcome.body);
  };
}

function withVary(before: unknown, vary: string): string {
  return before === undefined ? vary : `${String(before)}, ${vary}`;
}

export type { RouteProtection, SharedOptions } from './per-route.ts';
export type { Decider, ProtectOptions } from './protect-options.ts';
export type { OnRefusal, Refusal } from './refusal.ts';
export type { RequiredAccess, Rule, RuleInput } from './request-rule.ts';
