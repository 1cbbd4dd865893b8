import { changeDomain, followed } from '../../management/change-domain.ts';
import {
  type AskedOfObject,
  type ObjectOperation,
  type ObjectOperationId,
  objectOperations,
} from '../../management/edits/object-operations.ts';
import type { ChangeRequest } from '../../management/judge-edit.ts';
import type { RequestAnswer, RequestTask } from '../../management/requests/request-job.ts';
import { answerJson, type RouteContext } from '../context.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { answerOutcome, changeRequestOf, setWarnings, signalOf } from './request.ts';

/** Operation on an object, as it was asked for. */
interface AskedOperation {
  readonly id: ObjectOperationId;
  readonly asked: AskedOfObject;
}

/** Flags of a change, as the API names them. */
const changeFlags = ['allowWildcard', 'removeMemberships', 'reuseName'] as const;

/** Makes the change of an operation, or asks for it where the caller says so, and answers. */
export async function answerOperation(
  deps: ManagementRouteDeps,
  ctx: RouteContext,
  { id, asked }: AskedOperation,
): Promise<void> {
  const { operation }: ObjectOperation = objectOperations[id];
  // Parsed before it is stored, too.
  const wanted = operation(asked);
  const request = changeRequestOf(ctx);
  if (request.mode === undefined) return await answerOutcome(ctx, await changeDomain(deps, request, wanted));
  const params = Object.entries(asked.params).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const { ifMatch, mustBeNew } = request;
  const answer = await runTask(deps, ctx, request, {
    kind: 'ask',
    mode: request.mode,
    content: {
      kind: 'edit',
      operation: id,
      params: Object.fromEntries(params),
      flags: changeFlags.filter((flag) => request[flag] === true),
      ...(asked.body !== undefined && { body: asked.body }),
    },
    conditions: { mustBeNew, ...(ifMatch !== undefined && { ifMatch }) },
    requestMs: deps.requests.expirySeconds * 1000,
  });
  answerTask(deps, ctx, answer);
}

/** Runs a task about change requests in the process that does them, for the caller. What it changed is followed when this answers. */
export async function runTask(
  deps: ManagementRouteDeps,
  ctx: RouteContext,
  { caller, context }: Pick<ChangeRequest, 'caller' | 'context'>,
  task: RequestTask,
): Promise<Extract<RequestAnswer, { kind: 'answer' }>> {
  const { certificate } = ctx.state;
  // Plain data for another process; a certificate of a role or of another principal is none of the caller's.
  const own =
    certificate?.principal.name === caller && certificate.principal.kind === 'identity' ? certificate : undefined;
  const by = {
    caller,
    context,
    now: deps.clock.now(),
    quotas: deps.quotas,
    issuedByOperators: deps.requests.issuedByOperators,
    ...(own !== undefined && { certificate: { serial: own.serial, issuedAt: own.issuedAt } }),
    ...(deps.nameReservationMs !== undefined && { reservedMs: deps.nameReservationMs }),
  };
  const signal = signalOf(ctx);
  const answer = await deps.dryRuns.run(caller, () => deps.dryRuns.runRequest({ kind: 'request', by, task }, signal));
  if (task.kind !== 'see') await followed(deps);
  if (answer.emergency !== undefined)
    deps.brokeGlass({ caller, request: answer.emergency, requestId: context.requestId });
  return answer;
}

export function answerTask(
  { basePath }: Pick<ManagementRouteDeps, 'basePath'>,
  ctx: RouteContext,
  { status, json, stored, tag, warnings = [] }: Extract<RequestAnswer, { kind: 'answer' }>,
): void {
  if (stored !== undefined) ctx.set('Location', `${basePath}/requests/${stored}`);
  if (tag !== undefined) ctx.set('ETag', tag);
  setWarnings(ctx, warnings);
  ctx.status = status;
  if (status !== 204) answerJson(ctx, [json]);
}
