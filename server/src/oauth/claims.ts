import type { DomainName, PrincipalName, RoleName, ServiceName } from '@signet/policy-engine/names';
import type { AccessTokenClaims, IdTokenClaims } from '@signet/policy-engine/wire';

/** Version of both kinds of token (docs/reference/tokens.md#access-tokens). */
const tokenVersion = 1;

/** What an access token says. `now` and `lifeSeconds` in whole seconds, `thumbprint` of the caller's certificate when bound. */
interface AccessTokenFacts {
  readonly issuer: string;
  readonly principal: PrincipalName;
  readonly roles: readonly RoleName[];
  readonly now: number;
  readonly lifeSeconds: number;
  readonly tokenId: string;
  readonly thumbprint: string | undefined;
  readonly audience: string;
  /** Proxies that may pass the token on; only of a bound one. */
  readonly proxyPrincipals?: readonly string[] | undefined;
}

/** Claims of an access token (docs/reference/tokens.md#access-tokens; RFC 9068 §2.2). */
export function accessTokenClaims(facts: AccessTokenFacts): AccessTokenClaims {
  const claims: AccessTokenClaims = {
    ver: tokenVersion,
    iss: facts.issuer,
    aud: facts.audience,
    sub: facts.principal,
    uid: facts.principal,
    client_id: facts.principal,
    iat: facts.now,
    exp: facts.now + facts.lifeSeconds,
    auth_time: facts.now,
    jti: facts.tokenId,
    scp: [...facts.roles],
    scope: facts.roles.join(' '),
  };
  const { thumbprint, proxyPrincipals } = facts;
  if (thumbprint === undefined) return claims;
  claims.cnf = {
    'x5t#S256': thumbprint,
    ...(proxyPrincipals !== undefined && { 'proxy-principals#spiffe': proxyPrincipals }),
  };
  return claims;
}

interface IdTokenFacts {
  readonly issuer: string;
  readonly principal: PrincipalName;
  readonly domain: DomainName;
  readonly service: ServiceName;
  readonly now: number;
  readonly lifeSeconds: number;
}

/** Claims of an ID token for a service (docs/reference/tokens.md#id-tokens). */
export function idTokenClaims(facts: IdTokenFacts): IdTokenClaims {
  return {
    ver: tokenVersion,
    iss: facts.issuer,
    aud: `${facts.domain}.${facts.service}`,
    sub: facts.principal,
    iat: facts.now,
    exp: facts.now + facts.lifeSeconds,
    auth_time: facts.now,
  };
}
