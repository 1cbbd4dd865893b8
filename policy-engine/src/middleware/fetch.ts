import { PolicyEngineError } from '../errors.ts';
import type { Decision } from '../policy/index.ts';
import { type AnswerHeaders, createAuthorizer } from './authorize.ts';
import type { ProtectOptions } from './protect-options.ts';
import type { Peer } from './proxy-certificate.ts';

/** A handler of the Fetch standard. */
export type FetchHandler = (request: Request, decision: Decision) => Response | Promise<Response>;

/** The options of `protect` for fetch handlers. */
export interface FetchProtectOptions extends ProtectOptions {
  /** Connection facts from the platform: a Fetch `Request` has none. */
  peer: (request: Request) => Peer;
}

/**
 * Wraps a Fetch handler so that it runs only for requests that the engine allows; it gets the decision as well. Throws
 * `PolicyEngineError('invalid-options')` when the served domains are not stated.
 */
export function protect(handler: FetchHandler, options: FetchProtectOptions): (request: Request) => Promise<Response> {
  const authorize = createAuthorizer(options, ['peer']);
  if (typeof options.peer !== 'function') {
    throw new PolicyEngineError(
      'invalid-options',
      '`peer` must be a function: a Fetch request has no information about its connection',
    );
  }
  return async (request) => {
    const outcome = await authorize({
      method: request.method,
      target: targetOf(request.url),
      header: (name) => valuesOf(request.headers.get(name)),
      peer: options.peer(request),
    });
    if (outcome.kind === 'allowed') return withHeaders(await handler(request, outcome.decision), outcome.headers);
    return Response.json(outcome.body, { status: outcome.status, headers: outcome.headers });
  };
}

function withHeaders(response: Response, added: AnswerHeaders): Response {
  try {
    addHeaders(response.headers, added);
    return response;
  } catch {
    // Headers of an answer from `fetch` or `Response.redirect` are immutable.
    const { body, status, statusText } = response;
    const headers = new Headers(response.headers);
    addHeaders(headers, added);
    return new Response(body, { status, statusText, headers });
  }
}

function addHeaders(headers: Headers, added: AnswerHeaders): void {
  if (!headers.get('Vary')?.includes(added.Vary)) headers.append('Vary', added.Vary);
  if (!headers.has('Cache-Control')) headers.set('Cache-Control', added['Cache-Control']);
}

/** Path and query of an absolute URL, as they stand. */
function targetOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  return start < 0 ? '/' : url.slice(start);
}

/** Fetch joins repeated headers with a comma and a blank, which no token holds. */
function valuesOf(value: string | null): readonly string[] {
  return value === null ? [] : value.split(', ');
}

export type { Decider, ProtectOptions } from './protect-options.ts';
export type { OnRefusal, Refusal } from './refusal.ts';
export type { RequiredAccess, Rule, RuleInput } from './request-rule.ts';
