import type { PrincipalName } from '@signet/policy-engine/names';
import { authorityAction } from '../access/authority.ts';
import { checkAccess } from '../access/check-access.ts';
import { ForbiddenError, InvalidRequestError } from '../errors.ts';
import { findTenant } from './attest-instance.ts';
import { createJoinToken, type JoinTokenDeps } from './attestation/join-token.ts';
import type { InstanceDeps } from './instance-deps.ts';
import type { InstanceKey } from './instance-store.ts';

/** `InstanceRegisterToken`: what a new instance registers with, once. */
export interface InstanceRegisterToken {
  readonly provider: string;
  readonly domain: string;
  readonly service: string;
  readonly attestationData: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface RegisterTokenDeps extends JoinTokenDeps, Pick<InstanceDeps, 'snapshot' | 'clock'> {
  /** The provider whose instances register with join tokens. */
  readonly joinTokenProvider: PrincipalName;
}

const action = authorityAction('update');

/**
 * `GET /instance/{provider}/{domain}/{service}/{instanceId}/token`: a one-time token for one instance, to who holds `update` on
 * `<domain>:service.<service>`. Throws `InvalidRequestError`, `UnknownDomainError`, `ForbiddenError`, `StoreUnavailableError`.
 */
export async function createRegisterToken(
  deps: RegisterTokenDeps,
  caller: PrincipalName,
  key: InstanceKey,
): Promise<InstanceRegisterToken> {
  const snapshot = deps.snapshot();
  findTenant(snapshot, key);
  if (key.provider !== deps.joinTokenProvider) {
    throw new InvalidRequestError(`provider \`${key.provider}\` gives no registration tokens`);
  }
  const resource = `${key.domain}:service.${key.service}`;
  if (!checkAccess(snapshot, { principal: caller, action, resource }, deps.clock.now()).granted) {
    throw new ForbiddenError(`principal \`${caller}\` may not register instances of \`${key.domain}.${key.service}\``);
  }
  const attestationData = await createJoinToken(deps, caller, key);
  const { provider, domain, service, instanceId } = key;
  return { provider, domain, service, attestationData, attributes: { instanceId } };
}
