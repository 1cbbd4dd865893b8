import { ConflictError, ForbiddenError } from '../../errors.ts';
import type { StoredRequest } from '../../model/change-requests.ts';
import type { RequestDeed, StoreTransaction } from '../../model/store.ts';
import { asAsked, type ManagementDeps } from '../change-domain.ts';
import type { ChangeRequest } from '../judge-edit.ts';
import type { CallerRights } from '../rights.ts';
import { requireDecider } from './approvers.ts';
import { existingRequest, requireOpen, requireSight } from './decide.ts';

/** Caller who closes a request. */
type Closing = Pick<ChangeRequest, 'caller' | 'certificate' | 'context' | 'compared'>;

/**
 * Rejects a request; a change that was made by break-glass stays unreviewed, and the rejection in the audit log. Throws `NotFoundError`,
 * `ForbiddenError`, `ConflictError`.
 */
export function rejectRequest(
  deps: ManagementDeps,
  id: number,
  closing: Closing,
  comment: string,
): Promise<StoredRequest> {
  return close(deps, id, closing, async (request, rights) => {
    requireDecider(request, rights);
    return { state: request.state === 'unreviewed' ? 'unreviewed' : 'rejected', deed: { action: 'reject', comment } };
  });
}

/** Withdraws an open request of the caller. Throws `NotFoundError`, `ForbiddenError`, `ConflictError`. */
export function withdrawRequest(deps: ManagementDeps, id: number, closing: Closing): Promise<StoredRequest> {
  return close(deps, id, closing, async (request, { caller }) => {
    if (request.author !== caller) throw new ForbiddenError('only its author withdraws a request: reject it instead');
    if (request.state === 'unreviewed') throw new ConflictError(`request ${id} was applied: it waits for a review`);
    return { state: 'withdrawn', deed: { action: 'withdraw' } };
  });
}

interface Closed {
  readonly state: 'rejected' | 'withdrawn' | 'unreviewed';
  readonly deed: Omit<RequestDeed, 'by'>;
}

/** Closes a request as `decide` says, by the rights in the transaction: its effect is not looked at. */
async function close(
  deps: ManagementDeps,
  id: number,
  closing: Closing,
  decide: (request: StoredRequest, rights: CallerRights) => Promise<Closed>,
): Promise<StoredRequest> {
  const { context } = closing;
  const now = deps.clock.now();
  await deps.refresh();
  return deps.store.change(context, async (transaction: StoreTransaction) => {
    const request = await existingRequest(transaction, id);
    const { rights } = await asAsked(deps, closing, transaction);
    requireSight(request, rights);
    const { state, deed } = await decide(request, rights);
    if (request.state !== 'unreviewed') requireOpen(request, now);
    const decided: StoredRequest = { ...request, state, ...(state !== 'unreviewed' && { closed: now }) };
    await transaction.saveRequest(decided, { ...deed, by: context });
    return decided;
  });
}
