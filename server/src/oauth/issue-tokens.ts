import type { Clock } from '@signet/policy-engine/clock';
import type { DomainName, PrincipalName, RoleName } from '@signet/policy-engine/names';
import type { AccessTokenResponse } from '@signet/policy-engine/wire';
import { requireKnownIdentity } from '../access/known-identity.ts';
import { ForbiddenError, InvalidRequestError, NotFoundError, WrongClientError } from '../errors.ts';
import { NoSigningKeyError, type SigningKeys } from '../keys/signing-keys.ts';
import type { Principal } from '../principals/principal.ts';
import type { Compared } from '../roles/granted-roles.ts';
import { existingDomain } from '../snapshot/existing-domain.ts';
import type { DomainSnapshot, RoleSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { accessTokenClaims, idTokenClaims } from './claims.ts';
import { idTokenLifeSeconds, type LifetimeBounds } from './lifetimes.ts';
import type { RequestedScope } from './scope.ts';
import { grantRoles } from './token-grant.ts';
import type { TokenRequest } from './token-request.ts';
import { requirePresentable } from './token-size.ts';

export interface IssueTokensDeps {
  readonly snapshot: () => Snapshot;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  /** A new unique id for each call (`jti`). */
  readonly newTokenId: () => string;
  readonly issuer: string;
  readonly bounds: LifetimeBounds;
  /** True if tokens are bound to the caller's certificate (RFC 8705 §3). */
  readonly bound: boolean;
  /** True if a role certificate that names its holder gets tokens for its role. */
  readonly roleCertificates: boolean;
  /** True if ID tokens are issued; otherwise `openid` is understood and answered without one. */
  readonly idTokens: boolean;
}

/** The tokens of an answer, and what the log says of them. */
interface IssuedTokens {
  readonly tokens: AccessTokenResponse;
  readonly given: {
    readonly domain: DomainName;
    readonly roles: readonly RoleName[];
    readonly jti: string;
    /** Thumbprint of the certificate to which the access token is bound. */
    readonly thumbprint: string | undefined;
  };
}

/**
 * An access token for the roles that the caller holds among those asked for, and the ID token asked for with it
 * (RFC 6749 §4.4). In the order of docs/reference/http.md#order-of-checks: 404 unknown domain or service, 403 no role. Throws `DomainError`s.
 */
export function issueTokens(
  deps: IssueTokensDeps,
  principal: Principal,
  request: TokenRequest,
  compared?: Compared,
): IssuedTokens {
  const snapshot = deps.snapshot();
  const asker = deps.roleCertificates ? askerOf(principal, snapshot) : identityOf(principal);
  checkClient(asker?.name ?? principal.name, request);
  const domain = findAudience(snapshot, request.scope);
  if (asker === undefined) throw new ForbiddenError('a role certificate cannot be used to get a token');
  const asked = { scope: request.scope, requestedSeconds: request.expiresInSeconds, compared };
  const { roles, now, lifeSeconds } = grantRoles(deps, { snapshot, domain, principal: asker.name }, asked);
  if (principal.kind === 'role') requireOwnRole(principal, domain, roles, request);
  const { accessToken, idToken } = deps.keys.current();
  if (accessToken === undefined || idToken === undefined) throw new NoSigningKeyError('token');
  const { issuer } = deps;
  const tokenId = deps.newTokenId();
  const binding = bindingOf(deps, asker.thumbprint, request);
  const names = roles.map(({ name }) => name);
  const claims = accessTokenClaims({
    issuer,
    principal: asker.name,
    audience: audienceOf(domain, roles, request),
    roles: names,
    now,
    lifeSeconds,
    tokenId,
    ...binding,
  });
  const response: AccessTokenResponse = {
    access_token: requirePresentable(accessToken.sign(claims), names.length),
    token_type: 'Bearer',
    expires_in: lifeSeconds,
    scope: names.map((name) => `${domain.name}:role.${name}`).join(' '),
  };
  const service = request.scope.idTokenService;
  if (service !== undefined && deps.idTokens) {
    const lifeSeconds = idTokenLifeSeconds;
    const idClaims = idTokenClaims({ issuer, principal: asker.name, domain: domain.name, service, now, lifeSeconds });
    response.id_token = idToken.sign(JSON.stringify(idClaims));
  }
  const { thumbprint } = binding;
  return { tokens: response, given: { domain: domain.name, roles: names, jti: tokenId, thumbprint } };
}

/** Principal of a token request, and the certificate to which the token is bound. */
interface TokenAsker {
  readonly name: PrincipalName;
  readonly thumbprint?: string;
}

function identityOf(principal: Principal): TokenAsker | undefined {
  return principal.kind === 'role' ? undefined : principal;
}

/** The holder of a role certificate that names one asks in its name: as it is known now. */
function askerOf(principal: Principal, snapshot: Snapshot): TokenAsker | undefined {
  if (principal.kind !== 'role') return principal;
  const { holder, thumbprint } = principal;
  if (holder === undefined) return undefined;
  requireKnownIdentity(holder.name, snapshot, holder.since);
  return { name: holder.name, thumbprint };
}

/** Restricts the holder of a role certificate to its role: it gets no other, and no identity. */
function requireOwnRole(
  own: Extract<Principal, { kind: 'role' }>,
  domain: DomainSnapshot,
  roles: readonly RoleSnapshot[],
  { scope }: TokenRequest,
): void {
  const isOwn = own.domain === domain.name && roles.every(({ name }) => name === own.role);
  if (isOwn && scope.idTokenService === undefined) return;
  throw new ForbiddenError('a role certificate gets access tokens for its own role only');
}

function audienceOf(domain: DomainSnapshot, roles: readonly RoleSnapshot[], { roleAudience }: TokenRequest): string {
  const [role, ...others] = roles;
  return roleAudience === true && role !== undefined && others.length === 0
    ? `${domain.name}:${role.name}`
    : domain.name;
}

/** Binding of the token: the certificate that asked for it, and the proxies that it names. */
function bindingOf({ bound }: IssueTokensDeps, thumbprint: string | undefined, { proxyPrincipals }: TokenRequest) {
  const own = bound ? thumbprint : undefined;
  if (own === undefined && proxyPrincipals !== undefined) {
    throw new InvalidRequestError('proxy_principal_spiffe_uris needs a token that is bound to a certificate');
  }
  return { thumbprint: own, proxyPrincipals };
}

/** RFC 8705 §2: a `client_id` that is sent names the caller. */
function checkClient(name: string, request: TokenRequest): void {
  if (request.clientId !== undefined && request.clientId.toLowerCase() !== name) {
    throw new WrongClientError('client_id is not the principal of the client certificate');
  }
}

function findAudience(snapshot: Snapshot, scope: RequestedScope): DomainSnapshot {
  const domain = existingDomain(snapshot, scope.domain);
  const service = scope.idTokenService;
  if (service !== undefined && domain.services.get(service)?.enabled !== true) {
    throw new NotFoundError(`service \`${scope.domain}.${service}\` does not exist`);
  }
  return domain;
}
