import { InvalidRequestError } from '../../errors.ts';
import { followed, type ManagementDeps } from '../../management/change-domain.ts';
import { documentFlags } from '../../management/document-refusals.ts';
import { planDigestSchema } from '../../management/plan-file.ts';
import { parseReason } from '../../management/require-reason.ts';
import { bodyText } from '../body.ts';
import { answerJson, type RouteContext } from '../context.ts';
import { answerTask, runTask } from './answer-operation.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import type { PathRight } from './path-rights.ts';
import { changeContextOf, flag, modeOf, queryOf, signalOf } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** Routes that plan and apply the documents of many domains. The process that does it parses the body, too. */
export function mountPlanRoutes(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  const files: PathRight = { kind: 'untold', why: 'the documents in the body name the domains' };
  routes.post(`${deps.basePath}/plan`, files, async (ctx) => {
    answerJson(ctx, [await run(deps, ctx, queryOf(ctx, documentFlags))]);
  });
  routes.post(`${deps.basePath}/apply`, files, async (ctx) => {
    const query = queryOf(ctx, [...documentFlags, 'plan', 'reason', 'request', 'breakGlass']);
    const digest = query.get('plan');
    if (digest === undefined) throw new InvalidRequestError(`plan is required: POST ${deps.basePath}/plan`);
    const parsed = planDigestSchema.safeParse(digest);
    if (!parsed.success) throw new InvalidRequestError(`plan ${parsed.error.issues[0]?.message}`);
    const mode = modeOf(query);
    if (mode !== undefined) {
      const flags = documentFlags.filter((name) => flag(query, name));
      const content = { kind: 'body', body: bodyText(ctx), flags } as const;
      const requestMs = deps.requests.expirySeconds * 1000;
      const task = { kind: 'ask', mode, content, plan: parsed.data, requestMs } as const;
      return answerTask(deps, ctx, await runTask(deps, ctx, callerOf(ctx, query), task));
    }
    const json = await run(deps, ctx, query, parsed.data);
    await followed(deps);
    answerJson(ctx, [json]);
  });
}

function callerOf(ctx: RouteContext, query: ReadonlyMap<string, string>) {
  const reason = query.get('reason');
  return changeContextOf(ctx, reason === undefined ? undefined : parseReason(reason));
}

/** Plans, or applies where the digest of a `plan` is given. */
async function run(
  deps: ManagementDeps,
  ctx: RouteContext,
  query: ReadonlyMap<string, string>,
  plan?: string,
): Promise<Uint8Array> {
  const { caller, certificate, context } = callerOf(ctx, query);
  // Plain data for another process.
  const presented = certificate && { serial: certificate.serial, issuedAt: certificate.issuedAt };
  const rules = Object.fromEntries(documentFlags.map((name) => [name, flag(query, name)]));
  const job = {
    kind: plan === undefined ? ('plan' as const) : ('apply' as const),
    body: bodyText(ctx),
    now: deps.clock.now(),
    context,
    options: {
      ...rules,
      author: { caller, ...(presented !== undefined && { certificate: presented }) },
      quotas: deps.quotas,
      ...(deps.nameReservationMs !== undefined && { reservedMs: deps.nameReservationMs }),
    },
    ...(plan !== undefined && { plan }),
  };
  const signal = signalOf(ctx);
  return await deps.dryRuns.run(caller, () => deps.dryRuns.runDocuments(job, signal));
}
