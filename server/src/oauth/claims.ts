import type { DomainName, PrincipalName, RoleName, ServiceName } from '@signet/policy-engine/names';
import type { IdTokenClaims } from '@signet/policy-engine/wire';

/** Version of both kinds of token (docs/reference/tokens.md#access-tokens). */
const tokenVersion = 1;

/** Content of an access token. `now` and `lifeSeconds` in whole seconds, `thumbprint` of the caller's certificate when bound. */
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

/** The claims of an access token (docs/reference/tokens.md#access-tokens; RFC 9068 §2.2) as JSON text. */
export function accessTokenClaims(facts: AccessTokenFacts): string {
  const { issuer, principal, audience, roles, now, lifeSeconds, tokenId, thumbprint, proxyPrincipals } = facts;
  return JSON.stringify({
    ver: tokenVersion,
    iss: issuer,
    aud: audience,
    sub: principal,
    uid: principal,
    client_id: principal,
    iat: now,
    exp: now + lifeSeconds,
    auth_time: now,
    jti: tokenId,
    scp: roles,
    scope: roles.join(' '),
    // Members that are undefined are left out.
    cnf: thumbprint && { 'x5t#S256': thumbprint, 'proxy-principals#spiffe': proxyPrincipals },
  });
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
