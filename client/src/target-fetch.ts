import type { Clock } from '@signet/policy-engine/clock';
import { fetch, Headers, type Response } from 'undici';
import { SignetClientError } from './client-errors.ts';
import type { Agents } from './http/agents.ts';
import { transportError } from './http/transport-error.ts';
import type { AccessToken } from './tokens/cached-token.ts';
import type { TokenQuery, Tokens } from './tokens/tokens.ts';

/** The token that a protected service wants. */
export type Target = Pick<TokenQuery, 'domain' | 'roles' | 'expiresIn'>;

/** A request to a protected service. */
export interface TargetRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body that can be sent twice. */
  readonly body?: string | Uint8Array | URLSearchParams;
  readonly signal?: AbortSignal;
  /** The token to send; without it the one of `targets` for this origin. */
  readonly token?: Target;
}

interface TargetFetchDeps {
  readonly agents: Agents;
  readonly tokens: Tokens;
  readonly clock: Clock;
  /** Targets by origin, e.g. `https://catalog.example:4444`. */
  readonly targets: ReadonlyMap<string, Target>;
}

/** `fetch` to a protected service, with the certificate of the client and a token. */
export type TargetFetch = (url: string | URL, request?: TargetRequest) => Promise<Response>;

/**
 * Sends the right token in `Authorization` over the client's mutual TLS, as tokens are bound to its certificate. When the
 * service answers 401 or 403 because of the token, another one is got and the request sent once more. Redirects are
 * answered, not followed: a token goes nowhere else. Throws `invalid-argument` for an address without a token to send.
 */
export function createTargetFetch(deps: TargetFetchDeps): TargetFetch {
  return async (address, request = {}) => {
    const url = parseUrl(address);
    const target = request.token ?? deps.targets.get(url.origin);
    if (target === undefined) {
      throw new SignetClientError('invalid-argument', `there is no token configured for \`${url.origin}\``);
    }
    const query: TokenQuery = { ...target, ...(request.signal !== undefined && { signal: request.signal }) };
    const token = await deps.tokens.get(query);
    const answer = await send(deps, url, request, token);
    if (!isTokenFault(answer, token, deps.clock.now())) return answer;
    await answer.body?.cancel();
    await deps.tokens.forget(query, token);
    return send(deps, url, request, await deps.tokens.get(query));
  };
}

function parseUrl(address: string | URL): URL {
  const url = URL.parse(String(address));
  if (url?.protocol === 'https:') return url;
  throw new SignetClientError('invalid-argument', 'the address is not an https URL');
}

/** True if another token may help: the service says so (RFC 6750 §3.1), or this one has expired on the way. */
function isTokenFault(answer: Response, token: AccessToken, now: number): boolean {
  if (answer.status !== 401 && answer.status !== 403) return false;
  const challenge = answer.headers.get('www-authenticate') ?? '';
  return /\berror="?invalid_token\b/.test(challenge) || now >= token.expiresAt;
}

async function send(deps: TargetFetchDeps, url: URL, request: TargetRequest, token: AccessToken): Promise<Response> {
  const headers = new Headers(request.headers);
  headers.set('authorization', `${token.tokenType} ${token.accessToken}`);
  await deps.agents.refresh();
  try {
    return await fetch(url, {
      method: request.method ?? 'GET',
      headers,
      body: request.body ?? null,
      signal: request.signal ?? null,
      redirect: 'manual',
      dispatcher: deps.agents.targets,
    });
  } catch (error) {
    if (!request.signal?.aborted) throw transportError(error, url.host);
    throw new SignetClientError('aborted', 'the request was aborted by the caller', { cause: error });
  }
}
