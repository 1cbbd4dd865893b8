import { type PrincipalName, servicePrincipal } from '@signet/policy-engine/names';
import { actsAlone } from '../access/acts-alone.ts';
import { authorityAction } from '../access/authority.ts';
import { checkAccess } from '../access/check-access.ts';
import { type Asker, decidedAgain } from '../access/recording-conditions.ts';
import { ConflictError, ForbiddenError, InvalidRequestError } from '../errors.ts';
import type { InstanceKey } from '../model/instance-store.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { findTenant } from './attest-instance.ts';
import { createJoinToken, type JoinTokenDeps } from './attestation/join-token.ts';
import type { InstanceDeps } from './instance-deps.ts';

/** `InstanceRegisterToken`: what a new instance registers with, once. */
interface InstanceRegisterToken {
  readonly provider: string;
  readonly domain: string;
  readonly service: string;
  readonly attestationData: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface RegisterTokenDeps extends JoinTokenDeps, Pick<InstanceDeps, 'snapshot' | 'snapshotAt' | 'clock'> {
  /** The provider whose instances register with join tokens. */
  readonly joinTokenProvider: PrincipalName;
}

const action = authorityAction('update');

/**
 * `GET /instance/{provider}/{domain}/{service}/{instanceId}/token`: a join token for one instance, for holders of
 * `update` on `<domain>:service.<service>`. Throws `InvalidRequestError`, `UnknownDomainError`, `ForbiddenError`, `ConflictError`,
 * `StoreUnavailableError`.
 */
export async function createRegisterToken(
  deps: RegisterTokenDeps,
  asker: Asker,
  key: InstanceKey,
): Promise<InstanceRegisterToken> {
  findTenant(deps.snapshot(), key);
  if (key.provider !== deps.joinTokenProvider) {
    throw new InvalidRequestError(`provider \`${key.provider}\` gives no registration tokens`);
  }
  const { principal } = asker;
  requireRight(deps, deps.snapshot(), principal, key);
  const conditions = decidedAgain(deps, asker, (snapshot) => {
    findTenant(snapshot, key);
    requireRight(deps, snapshot, principal, key);
  });
  const attestationData = await createJoinToken(deps, principal, key, conditions);
  const { provider, domain, service, instanceId } = key;
  return { provider, domain, service, attestationData, attributes: { instanceId } };
}

function requireRight(
  { clock }: Pick<InstanceDeps, 'clock'>,
  snapshot: Snapshot,
  principal: PrincipalName,
  { domain, service }: Pick<InstanceKey, 'domain' | 'service'>,
): void {
  const resource = `${domain}:service.${service}`;
  if (checkAccess(snapshot, { principal, action, resource }, clock.now()).granted) {
    requireNotAlone(snapshot, servicePrincipal(domain, service), clock.now());
    return;
  }
  const refused = `principal \`${principal}\` may not register instances of \`${domain}.${service}\``;
  throw new ForbiddenError(`${refused}: it needs \`${action}\` on \`${resource}\``);
}

/** A join token makes its holder the service: no single person gives away what takes approvals. */
function requireNotAlone(snapshot: Snapshot, service: PrincipalName, now: number): void {
  if (!actsAlone(snapshot, service, now)) return;
  throw new ConflictError(
    `\`${service}\` may change a protected domain without approval: register a key of it by a request (--request), or have a provider launch it`,
  );
}
