import { epochSeconds } from '@signet/policy-engine/clock';
import type { PrincipalName } from '@signet/policy-engine/names';
import { authorityAction } from '../access/authority.ts';
import { checkAccess } from '../access/check-access.ts';
import { type Asker, requireAsker } from '../access/recording-conditions.ts';
import { ForbiddenError, UnknownDomainError } from '../errors.ts';
import type { InstanceKey } from '../model/instance-store.ts';
import type { ChangeContext } from '../model/records.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { InstanceDeps } from './instance-deps.ts';

const action = authorityAction('delete');

/**
 * `DELETE /instance/{provider}/{domain}/{service}/{instanceId}` (docs/reference/certificates.md#deleting-an-instance): its certificates
 * stop counting at once, in every process of this server. Done as well when there was no such instance. Throws `UnknownDomainError`,
 * `ForbiddenError`, `StoreUnavailableError`.
 */
export async function deleteInstance(
  deps: Pick<InstanceDeps, 'snapshot' | 'snapshotAt' | 'clock' | 'store' | 'onRevoked'>,
  asker: Asker,
  key: InstanceKey,
  context: ChangeContext,
): Promise<void> {
  const { principal: caller } = asker;
  // Checked before the write lock is taken: a caller without the right must not delay writers.
  requireDelete(deps.snapshot(), caller, key, deps.clock.now());
  const revocation = { reason: 'cessation-of-operation', at: epochSeconds(deps.clock), by: caller } as const;
  await deps.store.change(context, async (transaction) => {
    const snapshot = await deps.snapshotAt(transaction.source());
    await requireAsker(transaction, snapshot, asker);
    requireDelete(snapshot, caller, key, deps.clock.now());
    return transaction.removeInstance(key, revocation);
  });
  // Called even if nothing was removed: the request may repeat one that a process of this server could not follow.
  await deps.onRevoked();
}

function requireDelete(snapshot: Snapshot, caller: PrincipalName, key: InstanceKey, now: number): void {
  if (snapshot.domain(key.domain) === undefined) throw new UnknownDomainError(key.domain);
  const resource = `${key.domain}:instance.${key.instanceId}`;
  if (caller === key.provider || checkAccess(snapshot, { principal: caller, action, resource }, now).granted) return;
  throw new ForbiddenError(`principal \`${caller}\` may not delete this instance`);
}
