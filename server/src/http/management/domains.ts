import type Router from '@koa/router';
import type { Middleware as RouterMiddleware } from 'koa';
import { NotFoundError } from '../../errors.ts';
import { createDomain, deleteDomain } from '../../management/create-domain.ts';
import {
  deleteAccount,
  domainView,
  putAccount,
  putDomain,
  putLimits,
  putQuotas,
  quotasView,
  readNewDomain,
} from '../../management/edits/domains.ts';
import { mayView } from '../../management/rights.ts';
import { bodyJson } from '../body.ts';
import { type RequestState, requireIdentity } from '../context.ts';
import type { ManagementRouteDeps } from './deps.ts';
import {
  answerChange,
  answerOutcome,
  answerPage,
  answerView,
  changeRequestOf,
  domainOf,
  viewedDomain,
} from './request.ts';

/** Domains, what they say of themselves, their limits and cloud accounts. */
export function mountDomainRoutes(
  router: Router<RequestState>,
  deps: ManagementRouteDeps,
  body: RouterMiddleware<RequestState>,
): void {
  const list = `${deps.basePath}/domains`;
  const one = `${list}/:domainName`;
  router.get(list, async (ctx) => {
    const caller = requireIdentity(ctx).name;
    const snapshot = deps.snapshot();
    const names = await deps.store.domainNames();
    const visible = names.filter((name) => mayView(snapshot, caller, name, 'domain', deps.clock.now()));
    answerPage(deps, ctx, visible, (name) => name);
  });
  router.post(list, body, async (ctx) => {
    const content = readNewDomain(bodyJson(ctx));
    const outcome = await createDomain(deps, changeRequestOf(ctx), content);
    if (outcome.kind === 'done') ctx.set('Location', `${list}/${content.name}`);
    answerOutcome(ctx, outcome);
  });
  router.get(one, async (ctx) => answerView(ctx, domainView(await viewedDomain(deps, ctx))));
  router.put(one, body, (ctx) => answerChange(deps, ctx, putDomain(domainOf(ctx), bodyJson(ctx))));
  router.delete(one, async (ctx) => answerOutcome(ctx, await deleteDomain(deps, changeRequestOf(ctx), domainOf(ctx))));
  router.get(`${one}/limits`, async (ctx) => answerView(ctx, (await viewedDomain(deps, ctx)).limits));
  router.put(`${one}/limits`, body, (ctx) => answerChange(deps, ctx, putLimits(domainOf(ctx), bodyJson(ctx))));
  router.get(`${one}/quotas`, async (ctx) => answerView(ctx, quotasView(await viewedDomain(deps, ctx), deps.quotas)));
  router.put(`${one}/quotas`, body, (ctx) =>
    answerChange(deps, ctx, putQuotas(domainOf(ctx), bodyJson(ctx), deps.quotas)),
  );
  router.get(`${one}/accounts/aws`, async (ctx) => {
    const { awsAccount } = await viewedDomain(deps, ctx);
    if (awsAccount === undefined) throw new NotFoundError('the domain has no such account');
    answerView(ctx, { account: awsAccount });
  });
  router.put(`${one}/accounts/aws`, body, (ctx) => answerChange(deps, ctx, putAccount(domainOf(ctx), bodyJson(ctx))));
  router.delete(`${one}/accounts/aws`, (ctx) => answerChange(deps, ctx, deleteAccount(domainOf(ctx))));
}
