import { ConflictError, ForbiddenError } from '../../errors.ts';
import type { StoredRequest } from '../../model/change-requests.ts';
import type { Store } from '../../model/store.ts';
import { requireDecider } from './approvers.ts';
import { type Deciding, requireOpen, visibleRequest } from './decide.ts';

type Closing = Pick<Deciding, 'caller' | 'certificate' | 'context' | 'now'>;

/**
 * Rejects a request; a change that was made by break-glass stays unreviewed, and the rejection in the audit log. Throws `NotFoundError`,
 * `ForbiddenError`, `ConflictError`.
 */
export function rejectRequest(store: Store, id: number, closing: Closing, comment: string): Promise<StoredRequest> {
  const { context, now } = closing;
  return store.change(context, async (transaction) => {
    const { request, rights } = await visibleRequest(transaction, id, closing);
    requireDecider(request, rights);
    if (request.state !== 'unreviewed') requireOpen(request, now);
    const decided: StoredRequest =
      request.state === 'unreviewed' ? request : { ...request, state: 'rejected', closed: now };
    await transaction.saveRequest(decided, { action: 'reject', by: context, comment });
    return decided;
  });
}

/** Withdraws an open request of the caller. Throws `NotFoundError`, `ForbiddenError`, `ConflictError`. */
export function withdrawRequest(store: Store, id: number, closing: Closing): Promise<StoredRequest> {
  const { caller, context, now } = closing;
  return store.change(context, async (transaction) => {
    const { request } = await visibleRequest(transaction, id, closing);
    if (request.author !== caller) throw new ForbiddenError('only its author withdraws a request: reject it instead');
    if (request.state === 'unreviewed') throw new ConflictError(`request ${id} was applied: it waits for a review`);
    requireOpen(request, now);
    const decided: StoredRequest = { ...request, state: 'withdrawn', closed: now };
    await transaction.saveRequest(decided, { action: 'withdraw', by: context });
    return decided;
  });
}
