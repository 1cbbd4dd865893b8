import type { Clock } from '@signet/policy-engine/clock';
import { epochSeconds } from '@signet/policy-engine/clock';
import { fullRoleName, type PrincipalName } from '@signet/policy-engine/names';
import type { AccessTokenResponse } from '@signet/policy-engine/wire';
import { ForbiddenError, NoGrantedRolesError, NotFoundError, UnknownDomainError, WrongClientError } from '../errors.ts';
import { NoSigningKeyError, type SigningKeys } from '../keys/signing-keys.ts';
import type { Principal } from '../principal.ts';
import { grantedRoles } from '../roles/granted-roles.ts';
import type { DomainSnapshot, RoleSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { accessTokenClaims, idTokenClaims } from './claims.ts';
import { accessTokenLife, idTokenLifeSeconds, type LifetimeBounds } from './lifetimes.ts';
import type { RequestedScope } from './scope.ts';
import type { TokenRequest } from './token-request.ts';

export interface IssueTokensDeps {
  readonly snapshot: () => Snapshot;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  /** A new unique id for each call (`jti`). */
  readonly newTokenId: () => string;
  readonly issuer: string;
  readonly bounds: LifetimeBounds;
  /** Whether tokens are bound to the caller's certificate (RFC 8705 §3). */
  readonly bound: boolean;
  /** Whether ID tokens are given; when not, `openid` is understood and answered without one. */
  readonly idTokens: boolean;
}

/**
 * An access token for the roles that the caller holds among those asked for, and the ID token asked for with it
 * (RFC 6749 §4.4). In the order of docs/reference/http.md#order-of-checks: 404 unknown domain or service, 403 no role. Throws `DomainError`s.
 */
export function issueTokens(deps: IssueTokensDeps, principal: Principal, request: TokenRequest): AccessTokenResponse {
  const snapshot = deps.snapshot();
  checkClient(principal, request);
  const domain = findAudience(snapshot, request.scope);
  if (principal.kind === 'role') throw new ForbiddenError('a role certificate cannot be used to get a token');
  const held = grantedRoles(snapshot, domain, principal.name, deps.clock.now());
  const roles = rolesToGrant(held, principal.name, request.scope);
  const { accessToken, idToken } = deps.keys.current();
  if (accessToken === undefined || idToken === undefined) throw new NoSigningKeyError('token');
  const lifeSeconds = accessTokenLife(request.expiresInSeconds, deps.bounds, roles, domain.limits.tokenExpirySeconds);
  const { issuer } = deps;
  const now = epochSeconds(deps.clock);
  const claims = accessTokenClaims({
    issuer,
    principal: principal.name,
    domain: domain.name,
    roles: roles.map((role) => role.name),
    now,
    lifeSeconds,
    tokenId: deps.newTokenId(),
    thumbprint: deps.bound ? principal.thumbprint : undefined,
  });
  const response: AccessTokenResponse = {
    access_token: accessToken.sign(claims),
    token_type: 'Bearer',
    expires_in: lifeSeconds,
    scope: roles.map((role) => fullRoleName(domain.name, role.name)).join(' '),
  };
  const service = request.scope.idTokenService;
  if (service !== undefined && deps.idTokens) {
    response.id_token = idToken.sign(
      idTokenClaims({
        issuer,
        principal: principal.name,
        domain: domain.name,
        service,
        now,
        lifeSeconds: idTokenLifeSeconds,
      }),
    );
  }
  return response;
}

/** RFC 8705 §2: a `client_id` that is sent names the caller. */
function checkClient(principal: Principal, request: TokenRequest): void {
  if (request.clientId !== undefined && request.clientId.toLowerCase() !== principal.name) {
    throw new WrongClientError('client_id is not the principal of the client certificate');
  }
}

function findAudience(snapshot: Snapshot, scope: RequestedScope): DomainSnapshot {
  const domain = snapshot.domain(scope.domain);
  if (domain === undefined) throw new UnknownDomainError(scope.domain);
  const service = scope.idTokenService;
  if (service !== undefined && domain.services.get(service)?.enabled !== true) {
    throw new NotFoundError(`service \`${scope.domain}.${service}\` does not exist`);
  }
  return domain;
}

/** Those of the held roles that a scope asks for. Throws `NoGrantedRolesError` when there are none. */
export function rolesToGrant(
  held: readonly RoleSnapshot[],
  principal: PrincipalName,
  scope: RequestedScope,
): readonly RoleSnapshot[] {
  const granted = scope.kind === 'all-roles' ? held : held.filter((role) => scope.roles.has(role.name));
  if (granted.length === 0) throw new NoGrantedRolesError(scope.domain, { detail: { principal } });
  return granted;
}
