import type { Clock } from '@signet/policy-engine/clock';
import type { PrincipalName } from '@signet/policy-engine/names';
import { decideInDomain } from '@signet/policy-engine/policy';
import { authorityAction } from '../access/authority.ts';
import { ForbiddenError, InvalidRequestError, UnknownDomainError } from '../errors.ts';
import { grantedRoles } from '../roles/granted-roles.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import type { CredentialsCache } from './credentials-cache.ts';
import type { CredentialsRequest } from './credentials-request.ts';
import { roleSession, type TemporaryCredentials } from './role-session.ts';

export interface GetCredentialsDeps {
  readonly snapshot: () => Snapshot;
  readonly clock: Clock;
  readonly cache: CredentialsCache;
}

const action = authorityAction('assume_aws_role');

/**
 * Temporary credentials of the cloud role. The right is checked on every call, before the cache and before the cloud
 * is asked. Throws `UnknownDomainError`, `ForbiddenError`, `InvalidRequestError` (no account, or the cloud's refusal)
 * and `ServiceUnavailableError`.
 */
export async function getCredentials(
  deps: GetCredentialsDeps,
  principal: PrincipalName,
  request: CredentialsRequest,
): Promise<TemporaryCredentials> {
  const snapshot = deps.snapshot();
  const domain = snapshot.domain(request.domain);
  if (domain === undefined) throw new UnknownDomainError(request.domain);
  const roles = grantedRoles(snapshot, domain, principal, deps.clock.now()).map((role) => role.name);
  if (!mayAssume(domain, roles, request.role)) {
    throw new ForbiddenError(`principal may not \`${action}\` on \`${request.domain}:${request.role}\``);
  }
  if (domain.awsAccount === undefined)
    throw new InvalidRequestError(`domain \`${request.domain}\` has no cloud account`);
  return deps.cache.get(roleSession(domain.awsAccount, principal, request));
}

/**
 * The right must be given to a role by its own name on exactly this resource: wildcards do not hand out cloud roles
 * (decision 27). They do take them away: any DENY that matches wins.
 */
function mayAssume(domain: DomainSnapshot, roles: readonly string[], role: string): boolean {
  const resource = `${domain.name}:${role.toLowerCase()}`;
  const held = new Set(roles.map((name) => `${domain.name}:role.${name}`));
  const isExact = domain.policies.some(
    (policy) =>
      policy.active !== false &&
      policy.assertions.some(
        (assertion) =>
          assertion.effect !== 'DENY' &&
          assertion.conditions === undefined &&
          assertion.action.toLowerCase() === action &&
          assertion.resource.toLowerCase() === resource &&
          held.has(assertion.role),
      ),
  );
  return isExact && decideInDomain(domain.policy, roles, action, role.toLowerCase()).status === 'ALLOW';
}
