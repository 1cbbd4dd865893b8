import type { Clock } from '@signet/policy-engine/clock';
import {
  type DomainName,
  fullRoleName,
  parseDomainName,
  parseRoleName,
  parseServiceName,
  type RoleName,
} from '@signet/policy-engine/names';
import { parseArguments, wholeNumber } from '../arguments.ts';
import type { SignetClientError } from '../client-errors.ts';
import { decodeObject, type JsonObject, malformed, stringMember } from '../decode.ts';
import type { Http } from '../http/http.ts';
import { SharedFlights } from '../shared-flights.ts';
import type { AccessToken, CachedToken, IdToken } from './cached-token.ts';
import { TokenCache } from './token-cache.ts';

/** A request for an access token. */
export interface TokenQuery {
  /** The domain that the token is for (its audience). */
  readonly domain: string;
  /** Short names of roles in that domain; without them the token carries all roles that the caller holds there. */
  readonly roles?: readonly string[];
  /** Asked-for life in seconds; without it, or 0, the server's default (two hours). */
  readonly expiresIn?: number;
  /** Aborts this call; other callers that wait for the same token are not affected. */
  readonly signal?: AbortSignal;
}

/** A request for an ID token, which comes with an access token. */
export interface IdTokenQuery extends TokenQuery {
  /** Short name of the service in `domain` that the ID token is for. */
  readonly service: string;
}

interface TokensDeps {
  readonly http: Http;
  readonly clock: Clock;
  /** Caller of the certificate in use, and its thumbprint, to which the token will be bound. */
  readonly caller: () => Promise<Caller>;
  /** Tokens kept at most. */
  readonly cacheSize: number;
  /** File to keep tokens in as well. */
  readonly cacheFile: string | undefined;
  /** Key that separates the tokens of this client's servers from others in a shared file. */
  readonly server: string;
}

interface Caller {
  readonly principal: string;
  readonly thumbprint: string;
}

interface ParsedQuery {
  readonly domain: DomainName;
  /** Sorted, each once; empty means all. */
  readonly roles: readonly RoleName[];
  /** 0: the server's default. */
  readonly expiresInSeconds: number;
  readonly service: string | undefined;
}

/** The longest life of an ID token (docs/reference/tokens.md#id-tokens), after which a kept one is of no use. */
const idTokenSeconds = 3600;

/**
 * Tokens of the token endpoint, kept and reused only while at least a quarter of the asked-for life remains (interface
 * document, "Limits"): 30 minutes of the default two hours. One request a key is under way at most; failures are not kept.
 */
export class Tokens {
  readonly #deps: TokensDeps;
  readonly #cache: TokenCache;
  readonly #flights = new SharedFlights<CachedToken>();

  constructor(deps: TokensDeps) {
    this.#deps = deps;
    this.#cache = new TokenCache(deps.cacheSize, deps.cacheFile);
  }

  /**
   * An access token, from the cache or from `POST /oauth2/token`. Throws `refused` with status 403 when the caller holds
   * none of the roles, 404 for an unknown domain, 400 and 401 as in docs/reference/http.md#oauth-errors.
   */
  async get(query: TokenQuery): Promise<AccessToken> {
    const { idToken: _, ...token } = await this.#obtain(parseQuery(query, undefined), query.signal);
    return token;
  }

  /** An ID token for `domain.service`, with an access token. Throws as `get`, and `refused` (404) for an unknown service. */
  async getId(query: IdTokenQuery): Promise<IdToken> {
    const token = await this.#obtain(parseQuery(query, query.service), query.signal);
    if (token.idToken === undefined) throw malformed('`id_token` is missing');
    return { ...token, idToken: token.idToken };
  }

  /** Forgets a kept token, as one that a protected service refused; the next `get`, or `getId` with its `service`, asks for another. */
  async forget(
    query: TokenQuery & Partial<Pick<IdTokenQuery, 'service'>>,
    token: Pick<AccessToken, 'accessToken'>,
  ): Promise<void> {
    this.#cache.delete(await this.#keyOf(parseQuery(query, query.service)), token.accessToken);
  }

  /** Error of `tokenCacheFile`, when it cannot be used. */
  get cacheProblem(): SignetClientError | undefined {
    return this.#cache.problem;
  }

  /** Resolves when every kept token is on disk, where that is wanted. */
  async settled(): Promise<void> {
    await this.#cache.close();
  }

  /** Forgets every kept token in memory; calls under way still get theirs. */
  clear(): void {
    this.#cache.clear();
  }

  async #obtain(query: ParsedQuery, signal: AbortSignal | undefined): Promise<CachedToken['token']> {
    const key = await this.#keyOf(query);
    const kept = await this.#cache.get(key, this.#deps.clock.now());
    if (kept !== undefined) return kept;
    const fetched = await this.#flights.run(
      key,
      async (shared) => {
        const fresh = await this.#fetch(query, shared);
        await this.#cache.set(key, fresh, this.#deps.clock.now());
        return fresh;
      },
      signal,
    );
    return fetched.token;
  }

  async #keyOf(query: ParsedQuery): Promise<string> {
    const { thumbprint } = await this.#deps.caller();
    const { domain, roles, expiresInSeconds, service } = query;
    return JSON.stringify([this.#deps.server, thumbprint, domain, roles, expiresInSeconds, service]);
  }

  async #fetch(query: ParsedQuery, signal: AbortSignal): Promise<CachedToken> {
    // the time of asking, so that a slow answer never makes a token look younger than it is
    const askedAt = this.#deps.clock.now();
    const { body } = await this.#deps.http.send({
      method: 'POST',
      path: ['oauth2', 'token'],
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: formBody(query, (await this.#deps.caller()).principal),
      signal,
    });
    const { token, expiresInSeconds } = decodeToken(body, askedAt, scopesOf(query));
    const grantedSeconds = query.service === undefined ? expiresInSeconds : Math.min(expiresInSeconds, idTokenSeconds);
    return {
      token: { ...token, expiresAt: askedAt + grantedSeconds * 1000 },
      lifetimeMs: 1000 * lifetimeSeconds(query, grantedSeconds),
    };
  }
}

/** The life that the quarter is of. */
function lifetimeSeconds(query: ParsedQuery, grantedSeconds: number): number {
  if (query.expiresInSeconds === 0) return grantedSeconds;
  return query.service === undefined ? query.expiresInSeconds : Math.min(query.expiresInSeconds, idTokenSeconds);
}

function parseQuery(query: TokenQuery, service: string | undefined): ParsedQuery {
  return parseArguments(() => ({
    domain: parseDomainName(query.domain, 'domain'),
    roles: [...new Set((query.roles ?? []).map((role) => parseRoleName(role, 'roles')))].sort(),
    expiresInSeconds: wholeNumber(query.expiresIn ?? 0, 'expiresIn', 0, 2_147_483_647),
    service: service === undefined ? undefined : parseServiceName(service, 'service'),
  }));
}

function scopesOf(query: ParsedQuery): string[] {
  const scopes = query.roles.map((role) => fullRoleName(query.domain, role));
  if (scopes.length === 0) scopes.push(`${query.domain}:domain`);
  if (query.service !== undefined) scopes.push('openid', `${query.domain}:service.${query.service}`);
  return scopes;
}

/** The certificate authenticates, and the client names itself beside it (RFC 8705 §2). */
function formBody(query: ParsedQuery, client: string): string {
  const scope = scopesOf(query).join(' ');
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: client, scope });
  if (query.expiresInSeconds > 0) form.set('expires_in', String(query.expiresInSeconds));
  return form.toString();
}

/** RFC 6749 §5.1; a scope that is left out is the one that was `asked` for. */
function decodeToken(
  body: Uint8Array,
  askedAt: number,
  asked: readonly string[],
): { token: CachedToken['token']; expiresInSeconds: number } {
  const json = decodeObject(body);
  if (stringMember(json, 'token_type').toLowerCase() !== 'bearer') throw malformed('`token_type` is not Bearer');
  const accessToken = stringMember(json, 'access_token');
  const expiresInSeconds = lifeOf(json, accessToken, askedAt);
  const scope = json['scope'] === undefined ? asked : stringMember(json, 'scope').split(' ');
  const token = {
    accessToken,
    tokenType: 'Bearer' as const,
    scope: scope.filter((name) => name !== ''),
    expiresAt: askedAt + expiresInSeconds * 1000,
    ...(json['id_token'] !== undefined && { idToken: stringMember(json, 'id_token') }),
  };
  return { token, expiresInSeconds };
}

/** Lifetime by the answer, else by the token itself, else 0: then the token is not reused. */
function lifeOf(json: JsonObject, accessToken: string, askedAt: number): number {
  const life = json['expires_in'];
  if (life === undefined) return Math.max(0, Math.floor((expiryOf(accessToken) ?? 0) - askedAt / 1000));
  if (typeof life === 'number' && Number.isSafeInteger(life) && life > 0) return life;
  throw malformed('`expires_in` must be a positive number of seconds');
}

/** `exp` of a token that is a JWT, in seconds since the epoch. */
function expiryOf(token: string): number | undefined {
  try {
    const payload: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    const exp: unknown = Object(payload).exp;
    return typeof exp === 'number' && Number.isFinite(exp) ? exp : undefined;
  } catch {
    return undefined;
  }
}
