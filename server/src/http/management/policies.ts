import type Router from '@koa/router';
import { parsePolicyName } from '@signet/policy-engine/names';
import type { Middleware } from 'koa';
import { NotFoundError } from '../../errors.ts';
import {
  addAssertion,
  deleteAssertion,
  deletePolicy,
  deleteVersion,
  type PolicyPath,
  policyView,
  putActive,
  putPolicy,
  putVersion,
} from '../../management/edits/policies.ts';
import { bodyJson } from '../body.ts';
import type { RequestState, RouteContext } from '../context.ts';
import type { ManagementRouteDeps } from './deps.ts';
import { answerChange, answerPage, answerView, domainOf, viewedDomain } from './request.ts';

/** Policies, their versions, and the rules in these. */
export function mountPolicyRoutes(
  router: Router<RequestState>,
  deps: ManagementRouteDeps,
  body: Middleware<RequestState>,
): void {
  const all = `${deps.basePath}/domains/:domainName/policies`;
  const one = `${all}/:name`;
  const version = `${one}/versions/:version`;
  router.get(all, async (ctx) => {
    const names = new Set((await viewedDomain(deps, ctx)).policies.map(({ name }) => name));
    answerPage(deps, ctx, [...names], (name) => name);
  });
  router.get(one, async (ctx) => {
    const path = pathOf(ctx);
    const view = policyView(await viewedDomain(deps, ctx, `policy.${path.name}`), path);
    if (view === undefined) throw new NotFoundError('there is no such policy');
    answerView(ctx, view);
  });
  router.put(one, body, (ctx) => answerChange(deps, ctx, putPolicy(pathOf(ctx), bodyJson(ctx))));
  router.delete(one, (ctx) => answerChange(deps, ctx, deletePolicy(pathOf(ctx))));
  router.put(`${one}/active`, body, (ctx) => answerChange(deps, ctx, putActive(pathOf(ctx), bodyJson(ctx))));
  router.put(version, body, (ctx) => answerChange(deps, ctx, putVersion(pathOf(ctx), versionOf(ctx), bodyJson(ctx))));
  router.delete(version, (ctx) => answerChange(deps, ctx, deleteVersion(pathOf(ctx), versionOf(ctx))));
  router.post(`${version}/assertions`, body, (ctx) =>
    answerChange(deps, ctx, addAssertion(pathOf(ctx), versionOf(ctx), bodyJson(ctx))),
  );
  router.delete(`${version}/assertions/:id`, (ctx) =>
    answerChange(deps, ctx, deleteAssertion(pathOf(ctx), versionOf(ctx), Number(ctx.params['id']))),
  );
}

function pathOf(ctx: RouteContext): PolicyPath {
  return { domain: domainOf(ctx), name: parsePolicyName(ctx.params['name'], 'policyName') };
}

function versionOf(ctx: RouteContext): string {
  return ctx.params['version'] ?? '';
}
