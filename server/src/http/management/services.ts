import type Router from '@koa/router';
import { parseKeyId, parseServiceName } from '@signet/policy-engine/names';
import type { Middleware } from 'koa';
import { NotFoundError } from '../../errors.ts';
import {
  deleteKey,
  deleteService,
  putKey,
  putService,
  type ServicePath,
  serviceView,
} from '../../management/edits/services.ts';
import { bodyJson } from '../body.ts';
import type { RequestState, RouteContext } from '../context.ts';
import type { ManagementRouteDeps } from './deps.ts';
import { answerChange, answerObject, answerPage, answerView, domainOf, viewedDomain } from './request.ts';

/** Services and their public keys. */
export function mountServiceRoutes(
  router: Router<RequestState>,
  deps: ManagementRouteDeps,
  body: Middleware<RequestState>,
): void {
  const all = `${deps.basePath}/domains/:domainName/services`;
  const one = `${all}/:name`;
  const key = `${one}/keys/:keyId`;
  const keyOf = (ctx: RouteContext) => parseKeyId(ctx.params['keyId'], 'keyId');
  router.get(all, async (ctx) => {
    const names = (await viewedDomain(deps, ctx)).services.map(({ name }) => name);
    answerPage(deps, ctx, names, (name) => name);
  });
  router.get(one, async (ctx) => {
    const path = pathOf(ctx);
    const view = serviceView(await viewedDomain(deps, ctx, `service.${path.name}`), path);
    if (view === undefined) throw new NotFoundError('there is no such service');
    answerView(ctx, view);
  });
  router.put(one, body, (ctx) => answerChange(deps, ctx, putService(pathOf(ctx), bodyJson(ctx))));
  router.delete(one, (ctx) => answerChange(deps, ctx, deleteService(pathOf(ctx))));
  router.get(key, (ctx) => answerObject(deps, ctx, deleteKey(pathOf(ctx), keyOf(ctx))));
  router.put(key, body, (ctx) => answerChange(deps, ctx, putKey(pathOf(ctx), keyOf(ctx), bodyJson(ctx))));
  router.delete(key, (ctx) => answerChange(deps, ctx, deleteKey(pathOf(ctx), keyOf(ctx))));
}

function pathOf(ctx: RouteContext): ServicePath {
  return { domain: domainOf(ctx), name: parseServiceName(ctx.params['name'], 'serviceName') };
}
