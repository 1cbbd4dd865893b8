import type { Clock } from '@signet/policy-engine/clock';
import type { PrincipalName } from '@signet/policy-engine/names';
import { decideInDomain } from '@signet/policy-engine/policy';
import { authorityAction } from '../access/authority.ts';
import { requireKnownIdentity } from '../access/known-identity.ts';
import type { Asker } from '../access/recording-conditions.ts';
import { ForbiddenError, InvalidRequestError, UnauthenticatedError } from '../errors.ts';
import type { CertificateStore } from '../model/certificate-store.ts';
import { grantedRoles } from '../roles/granted-roles.ts';
import { existingDomain } from '../snapshot/existing-domain.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import type { CredentialsCache } from './credentials-cache.ts';
import type { CredentialsRequest } from './credentials-request.ts';
import { roleSession, type TemporaryCredentials } from './role-session.ts';

export interface GetCredentialsDeps {
  readonly snapshot: () => Snapshot;
  /** The snapshot as of what the store says now. */
  readonly latest: () => Promise<Snapshot>;
  readonly certificates: Pick<CertificateStore, 'find'>;
  readonly clock: Clock;
  readonly cache: CredentialsCache;
}

const action = authorityAction('assume_aws_role');

/**
 * Temporary credentials of the cloud role. The right is checked on every call, before the cache and before the cloud is asked, and once
 * more as the store says it before they are answered, since the cloud takes its time. Throws `UnknownDomainError`, `ForbiddenError`,
 * `UnauthenticatedError`, `InvalidRequestError` (no account, or the cloud's refusal) and `ServiceUnavailableError`.
 */
export async function getCredentials(
  deps: GetCredentialsDeps,
  caller: Asker,
  request: CredentialsRequest,
): Promise<TemporaryCredentials> {
  const account = accountFor(deps.snapshot(), deps.clock.now(), caller.principal, request);
  const credentials = await deps.cache.get(roleSession(account, caller.principal, request));
  await requireStillHeld(deps, caller, request, account);
  return credentials;
}

/** The cloud account of the domain, for who may assume the role. */
function accountFor(snapshot: Snapshot, now: number, principal: PrincipalName, request: CredentialsRequest): string {
  const domain = existingDomain(snapshot, request.domain);
  const roles = grantedRoles(snapshot, domain, principal, now).map((role) => role.name);
  if (!mayAssume(domain, roles, request.role)) {
    throw new ForbiddenError(`principal may not \`${action}\` on \`${request.domain}:${request.role}\``);
  }
  if (domain.accounts.aws === undefined)
    throw new InvalidRequestError(`domain \`${request.domain}\` has no cloud account`);
  return domain.accounts.aws;
}

async function requireStillHeld(
  { latest, certificates, clock }: GetCredentialsDeps,
  { principal, certificate }: Asker,
  request: CredentialsRequest,
  account: string,
): Promise<void> {
  const record = certificate && (await certificates.find(certificate.serial));
  if (record?.revoked !== undefined) throw new UnauthenticatedError('client certificate was revoked');
  const snapshot = await latest();
  requireKnownIdentity(principal, snapshot, certificate?.issuedAt);
  if (accountFor(snapshot, clock.now(), principal, request) === account) return;
  throw new ForbiddenError(`the cloud account of domain \`${request.domain}\` was changed meanwhile, ask again`);
}

/**
 * The right must be given to a role by its own name on exactly this resource: wildcards do not hand out cloud roles
 * (docs/reference/cloud-credentials.md#who-may). They do deny them: any DENY that matches wins.
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
