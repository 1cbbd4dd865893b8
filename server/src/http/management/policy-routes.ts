import { parsePolicyName } from '@signet/policy-engine/names';
import {
  addAssertion,
  deleteAssertion,
  deletePolicy,
  deleteVersion,
  type PolicyPath,
  putActive,
  putPolicy,
  putVersion,
} from '../../management/edits/edit-policies.ts';
import { bodyJson } from '../body.ts';
import type { RouteContext } from '../context.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { manages, objectOf, views } from './path-rights.ts';
import { answerChange, answerObject, answerPage, domainOf, viewed } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** Policies, their versions, and the rules in these. */
export function mountPolicyRoutes(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  const all = `${deps.basePath}/domains/:domainName/policies`;
  const one = `${all}/:name`;
  const version = `${one}/versions/:version`;
  const manage = manages('manage_policies', objectOf.policy);
  routes.get(all, views(objectOf.domain), async (ctx) => {
    const policies = await viewed(deps, ctx, (reader, { name }) => reader.policies(name));
    await answerPage(deps, ctx, [...new Set(policies.map(({ name }) => name))], (name) => name);
  });
  routes.get(one, views(objectOf.policy), (ctx) => answerObject(deps, ctx, deletePolicy(pathOf(ctx))));
  routes.put(one, manage, (ctx) => answerChange(deps, ctx, putPolicy(pathOf(ctx), bodyJson(ctx))));
  routes.delete(one, manage, (ctx) => answerChange(deps, ctx, deletePolicy(pathOf(ctx))));
  routes.put(`${one}/active`, manage, (ctx) => answerChange(deps, ctx, putActive(pathOf(ctx), bodyJson(ctx))));
  routes.put(version, manage, (ctx) => answerChange(deps, ctx, putVersion(pathOf(ctx), versionOf(ctx), bodyJson(ctx))));
  routes.delete(version, manage, (ctx) => answerChange(deps, ctx, deleteVersion(pathOf(ctx), versionOf(ctx))));
  routes.post(`${version}/assertions`, manage, (ctx) =>
    answerChange(deps, ctx, addAssertion(pathOf(ctx), versionOf(ctx), bodyJson(ctx))),
  );
  routes.delete(`${version}/assertions/:id`, manage, (ctx) =>
    answerChange(deps, ctx, deleteAssertion(pathOf(ctx), versionOf(ctx), Number(ctx.params['id']))),
  );
}

function pathOf(ctx: RouteContext): PolicyPath {
  return { domain: domainOf(ctx), name: parsePolicyName(ctx.params['name'], 'policyName') };
}

function versionOf(ctx: RouteContext): string {
  return ctx.params['version'] ?? '';
}
