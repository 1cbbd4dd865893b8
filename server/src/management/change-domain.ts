import type { Clock } from '@signet/policy-engine/clock';
import { requireAsker } from '../access/recording-conditions.ts';
import { notFollowed } from '../base/peers.ts';
import { NotFoundError, UnknownDomainError } from '../errors.ts';
import type { Quotas } from '../model/records.ts';
import type { Store, StoreReader, StoreTransaction } from '../model/store.ts';
import type { SnapshotAt } from '../snapshot/live-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { DryRuns } from './dry-runs.ts';
import type { ChangeRequest, DomainOperation, JudgingDeps, MadeChange } from './judge-edit.ts';
import { type Preview, preview, triedChange } from './preview.ts';
import { requireNoApproval } from './requests/needed.ts';
import { rightsOf } from './rights.ts';

export interface ManagementDeps {
  readonly store: Store;
  readonly snapshot: () => Snapshot;
  readonly snapshotAt: SnapshotAt;
  readonly refresh: () => Promise<void>;
  /** Makes every process of this server follow a change at once. */
  readonly changed: () => Promise<unknown>;
  readonly clock: Clock;
  readonly quotas: Quotas;
  readonly dryRuns: DryRuns;
  /** Reservation time of names; default 30 days. */
  readonly nameReservationMs?: number;
}

export type ChangeOutcome =
  | ({ readonly kind: 'done' } & MadeChange)
  | { readonly kind: 'dry-run'; readonly preview: Preview };

/**
 * Makes one change of one domain in one transaction with its audit record, or says what it would do. Existence comes before
 * rights (docs/reference/http.md#order-of-checks). Throws `UnknownDomainError`, `ForbiddenError`, `PreconditionFailedError`, `ConflictError` where
 * it needs approvals, and what the operation throws.
 */
export async function changeDomain(
  deps: ManagementDeps,
  request: ChangeRequest,
  operation: DomainOperation,
): Promise<ChangeOutcome> {
  const judgeIn = async (reader: StoreReader) => {
    const current = await asAsked(deps, request, reader);
    return await paid(request, reader, () => operation.judge(current, request, reader));
  };
  if (request.dryRun) {
    return preview(deps, request, operation.domain, async () => {
      await deps.refresh();
      return await deps.store.view(async (reader) =>
        triedChange(operation.domain, await judgeIn(reader), reader.state()),
      );
    });
  }
  // Refreshed first, so that the transaction has little to catch up with.
  await deps.refresh();
  return changeAndFollow(deps, request, async (transaction): Promise<ChangeOutcome> => {
    const judged = await judgeIn(transaction);
    requireNoApproval(judged.needed);
    return { kind: 'done', ...(await judged.save(transaction)) };
  });
}

/** Charges rows read by `work` to the request's budget, even on failure. */
async function paid<Result>(
  { onRead }: Pick<ChangeRequest, 'onRead'>,
  reader: StoreReader,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } finally {
    onRead?.(reader.rowsRead());
  }
}

/** Makes a change, and answers when every process of this server follows it. Throws what `work` and `followed` throw. */
export async function changeAndFollow<Result>(
  deps: Pick<ManagementDeps, 'store' | 'changed'>,
  { context }: Pick<ChangeRequest, 'context'>,
  work: (transaction: StoreTransaction) => Promise<Result>,
): Promise<Result> {
  const result = await deps.store.change(context, work).catch(async (error: unknown) => {
    // A deletion that is sent again finds nothing any more, which is as good as an acknowledgement.
    if (error instanceof NotFoundError || error instanceof UnknownDomainError) await followed(deps);
    throw error;
  });
  await followed(deps);
  return result;
}

/** Waits until every process of this server follows what was changed; then it is acknowledged. Throws `ServiceUnavailableError`. */
export async function followed({ changed }: Pick<ManagementDeps, 'changed'>): Promise<void> {
  await changed().catch((cause: unknown) => {
    throw notFollowed(cause);
  });
}

/**
 * The same, with the caller's rights in the transaction that makes the change, whichever server changed them last: they may have been
 * revoked while it waited for its turn. Throws when who asks, or its certificate, counts no more.
 */
export async function asAsked(
  deps: ManagementDeps,
  { caller, certificate, compared }: Pick<ChangeRequest, 'caller' | 'certificate' | 'compared'>,
  reader: Pick<StoreReader, 'source' | 'isRevoked'>,
): Promise<JudgingDeps> {
  const snapshot = await deps.snapshotAt(reader.source());
  await requireAsker(reader, snapshot, { principal: caller, certificate });
  return { ...deps, snapshot: () => snapshot, rights: rightsOf(snapshot, caller, deps.clock.now(), compared) };
}
