import { type DomainName, InvalidNameError, type PrincipalName } from '@signet/policy-engine/names';
import { type AskersCertificate, requireAsker } from '../../access/recording-conditions.ts';
import {
  ConflictError,
  DomainError,
  ForbiddenError,
  NotFoundError,
  PreconditionFailedError,
  ServiceUnavailableError,
  StoreUnavailableError,
} from '../../errors.ts';
import type { Approval, StoredRequest } from '../../model/change-requests.ts';
import type { ChangeContext, DomainRecord, Quotas } from '../../model/records.ts';
import type { Store, StoreReader, StoreTransaction } from '../../model/store.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { isStill } from '../plan-basis.ts';
import { listedPlan, type Plan } from '../plan-documents.ts';
import { type CallerRights, rightsOf, systemDomain } from '../rights.ts';
import { snapshotOf, withNeeded } from '../stored-world.ts';
import { mayDecide, maySee, requireApprover, requireNoGain } from './approvers.ts';
import { mostOf } from './needed.ts';
import { type Asking, homeOf, prepare } from './prepare.ts';
import { type Examined, examine, planFor, wholeDigest } from './request-effect.ts';

/** Viewer or approver of a request, and the configuration of the server. */
export interface Deciding {
  readonly caller: PrincipalName;
  /** The certificate of the caller itself; absent for other credentials. */
  readonly certificate?: AskersCertificate;
  readonly context: ChangeContext;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly quotas: Quotas;
  readonly reservedMs?: number;
  readonly issuedByOperators: boolean;
}

/** A request with its effect as of now; `problem` says why there is none. */
export interface SeenRequest {
  readonly request: StoredRequest;
  readonly plan?: Plan;
  readonly problem?: string;
  /** Digest of the effect with nothing hidden. */
  readonly effect?: string;
}

const maxTries = 3;
const generalProblem = 'the change cannot be made now: its author has to send it again';

/** A request with its effect, for somebody who may look at it. Throws `NotFoundError`. */
export async function seeRequest(
  store: Pick<Store, 'view'>,
  id: number,
  deciding: Deciding,
  withEffect: boolean,
): Promise<SeenRequest> {
  const { now } = deciding;
  const seen = await store.view(async (reader) => {
    const { request, rights } = await visibleRequest(reader, id, deciding);
    if (!withEffect || request.state !== 'open' || isExpired(request, now)) return { request, rights };
    const examined = await examine(reader, request.content, askingOf(request, deciding)).catch((error: unknown) =>
      problemOf(error, request, rights.caller),
    );
    return { request, rights, examined };
  });
  const { request, rights, examined } = seen;
  if (examined === undefined) return { request };
  if (typeof examined === 'string') return { request, problem: examined };
  return { request, plan: listedPlan(await planFor(examined, rights, now)), effect: await wholeDigest(examined, now) };
}

/** Reason why a change is refused, as far as its viewer may know it. Throws errors that are not about the change. */
function problemOf(error: unknown, { author, content }: StoredRequest, caller: PrincipalName): string {
  if (!(error instanceof DomainError || error instanceof InvalidNameError) || error instanceof StoreUnavailableError)
    throw error;
  return caller === author || content.kind === 'role' ? error.message : generalProblem;
}

interface Decision {
  /** Digest of the effect that the approver has seen; absent for a review. */
  readonly plan?: string;
  readonly comment?: string;
}

/**
 * Approves the effect of a request; the last approval that is needed makes the change, with its author's rights. For a change that was made by
 * break-glass: says that it was reviewed. Throws `NotFoundError`, `ForbiddenError`, `ConflictError` for one that is closed or refused,
 * `PreconditionFailedError` for another effect.
 */
export async function approveRequest(
  store: Store,
  id: number,
  deciding: Deciding,
  decision: Decision,
): Promise<StoredRequest> {
  for (let tries = 1; tries <= maxTries; tries += 1) {
    const found = await store.view(async (reader) => {
      const { request, rights } = await visibleRequest(reader, id, deciding);
      if (request.state === 'unreviewed') return { request, rights };
      requireOpen(request, deciding.now);
      return { request, rights, examined: await examined(reader, request, deciding) };
    });
    const effect = found.examined && (await requireSame(found.examined, found.rights, deciding, decision));
    const decided = await store.change(contextOf(found.request, deciding), async (transaction) => {
      const { request, rights, snapshot } = await visibleRequest(transaction, id, deciding);
      await requireApprover(transaction, request, rights, {
        approver: approverOf(deciding),
        issuedByOperators: deciding.issuedByOperators,
      });
      if (request.state === 'unreviewed') return await review(transaction, request, deciding, decision);
      requireOpen(request, deciding.now);
      if (
        found.examined === undefined ||
        effect === undefined ||
        !(await isStill(found.examined.sides.basis, transaction))
      )
        return undefined;
      requireNoGain(found.examined.sides, deciding.caller, deciding.now);
      return await approve(transaction, { request, rights, snapshot }, deciding, { ...decision, effect });
    });
    if (decided !== undefined) return decided;
  }
  throw new ServiceUnavailableError('the domains change all the time: send the approval again');
}

async function examined(reader: StoreReader, request: StoredRequest, deciding: Deciding): Promise<Examined> {
  return await examine(reader, request.content, askingOf(request, deciding)).catch((error: unknown) => {
    throw refusal(error, request, deciding.caller);
  });
}

/** A change that its author may no longer make is forbidden; one that does not fit what is there is a conflict. */
function refusal(error: unknown, request: StoredRequest, caller: PrincipalName): unknown {
  const problem = problemOf(error, request, caller);
  if (error instanceof ForbiddenError) return new ForbiddenError(`the author may not make this change: ${problem}`);
  return new ConflictError(problem);
}

/** Digest of the whole effect. Throws `PreconditionFailedError` when the approver has seen another one. */
async function requireSame(
  found: Examined,
  rights: CallerRights,
  { now }: Deciding,
  { plan }: Decision,
): Promise<string> {
  if ((await planFor(found, rights, now)).digest !== plan) {
    throw new PreconditionFailedError('the effect differs from the plan: look at the request again');
  }
  return await wholeDigest(found, now);
}

async function approve(
  transaction: StoreTransaction,
  { request, snapshot }: VisibleRequest,
  deciding: Deciding,
  { effect, comment }: Decision & { readonly effect: string },
): Promise<StoredRequest> {
  const { caller: by, now } = deciding;
  const prepared = await prepare(transaction, request.content, askingOf(request, deciding)).catch((error: unknown) => {
    throw refusal(error, request, by);
  });
  const own: Approval = { by, at: now, effect, ...(comment !== undefined && { comment }) };
  const approvals = [...request.approvals.filter((one) => one.by !== by), own];
  // Whoever may no longer decide about the request approves it no more.
  const current = approvals.filter(
    (one) => one.effect === effect && mayDecide(rightsOf(snapshot, one.by, now), request),
  );
  const { approvals: needed } = mostOf(prepared.needs.values());
  const isDone = current.length >= needed;
  if (isDone) await prepared.save(transaction);
  const decided = { ...request, approvals, ...(isDone && ({ state: 'applied', closed: now } as const)) };
  await transaction.saveRequest(decided, {
    action: 'approve',
    by: deciding.context,
    ...(comment !== undefined && { comment }),
  });
  return decided;
}

async function review(
  transaction: StoreTransaction,
  request: StoredRequest,
  { caller: by, now, context }: Deciding,
  { comment }: Decision,
): Promise<StoredRequest> {
  const said = comment !== undefined && { comment };
  const decided: StoredRequest = {
    ...request,
    state: 'applied',
    closed: now,
    approvals: [...request.approvals, { by, at: now, ...said }],
  };
  await transaction.saveRequest(decided, { action: 'review', by: context, ...said });
  return decided;
}

/** Throws `NotFoundError`. */
export async function existingRequest(reader: StoreReader, id: number): Promise<StoredRequest> {
  const request = await reader.request(id);
  if (request === undefined) throw noRequest(id);
  return request;
}

/** Throws `NotFoundError` unless the request may be looked at, as where there is none. */
export function requireSight(request: StoredRequest, rights: CallerRights): void {
  if (!maySee(rights, request)) throw noRequest(request.id);
}

function noRequest(id: number): NotFoundError {
  return new NotFoundError(`there is no request ${id}`);
}

interface VisibleRequest {
  readonly request: StoredRequest;
  readonly rights: CallerRights;
  /** Snapshot of the request's domains. */
  readonly snapshot: Snapshot;
}

/** The request and the rights of its viewer. Throws `NotFoundError` unless it may be looked at. */
async function visibleRequest(
  reader: StoreReader,
  id: number,
  { caller, certificate, now }: Pick<Deciding, 'caller' | 'certificate' | 'now'>,
): Promise<VisibleRequest> {
  const request = await existingRequest(reader, id);
  const names: readonly DomainName[] = [systemDomain, ...homeOf(caller), ...request.domains];
  const domains: ReadonlyMap<DomainName, DomainRecord> = await withNeeded(reader, new Map(), names);
  const snapshot = snapshotOf({ domains, switchedOff: await reader.switchedOff() });
  await requireAsker(reader, snapshot, { principal: caller, certificate });
  const rights = rightsOf(snapshot, caller, now);
  requireSight(request, rights);
  return { request, rights, snapshot };
}

export function isExpired({ state, expires }: StoredRequest, now: number): boolean {
  return state === 'open' && expires <= now;
}

/** Throws `ConflictError`. */
export function requireOpen(request: StoredRequest, now: number): void {
  const { id, state } = request;
  if (isExpired(request, now)) throw new ConflictError(`request ${id} has expired`);
  if (state !== 'open') throw new ConflictError(`request ${id} is closed: it was ${state}`);
}

function askingOf({ author, reason }: StoredRequest, { context, now, quotas, reservedMs }: Deciding): Asking {
  const { requestId } = context;
  return {
    // Requests of commands beside the store are never open.
    author: { caller: author as PrincipalName },
    context: { actor: author, ...(requestId !== undefined && { requestId }), ...(reason !== undefined && { reason }) },
    now,
    quotas,
    ...(reservedMs !== undefined && { reservedMs }),
  };
}

/** The change is made in the name of its author. */
function contextOf(
  { author, certificate, reason }: StoredRequest,
  { context: { requestId } }: Deciding,
): ChangeContext {
  return {
    actor: author,
    ...(certificate !== undefined && { certificateSerial: certificate }),
    ...(requestId !== undefined && { requestId }),
    ...(reason !== undefined && { reason }),
  };
}

function approverOf({ caller, certificate }: Deciding) {
  return { caller, ...(certificate !== undefined && { serial: certificate.serial }) };
}
