import { parseKeyId, parseServiceName } from '@signet/policy-engine/names';
import {
  deleteKey,
  deleteService,
  putKey,
  putService,
  type ServicePath,
} from '../../management/edits/edit-services.ts';
import { bodyJson } from '../body.ts';
import type { RouteContext } from '../context.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { manages, objectOf, views } from './path-rights.ts';
import { answerChange, answerObject, answerPage, domainOf, viewed } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** Services and their public keys. */
export function mountServiceRoutes(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  const all = `${deps.basePath}/domains/:domainName/services`;
  const one = `${all}/:name`;
  const key = `${one}/keys/:keyId`;
  const keyOf = (ctx: RouteContext) => parseKeyId(ctx.params['keyId'], 'keyId');
  const view = views(objectOf.service);
  const manage = manages('manage_services', objectOf.service);
  const keys = manages('manage_keys', objectOf.service);
  routes.get(all, views(objectOf.domain), async (ctx) => {
    const services = await viewed(deps, ctx, (reader, { name }) => reader.services(name));
    const names = services.map(({ name }) => name);
    await answerPage(deps, ctx, names, (name) => name);
  });
  routes.get(one, view, (ctx) => answerObject(deps, ctx, deleteService(pathOf(ctx))));
  routes.put(one, manage, (ctx) => answerChange(deps, ctx, putService(pathOf(ctx), bodyJson(ctx))));
  routes.delete(one, manage, (ctx) => answerChange(deps, ctx, deleteService(pathOf(ctx))));
  routes.get(key, view, (ctx) => answerObject(deps, ctx, deleteKey(pathOf(ctx), keyOf(ctx))));
  routes.put(key, keys, (ctx) => answerChange(deps, ctx, putKey(pathOf(ctx), keyOf(ctx), bodyJson(ctx))));
  routes.delete(key, keys, (ctx) => answerChange(deps, ctx, deleteKey(pathOf(ctx), keyOf(ctx))));
}

function pathOf(ctx: RouteContext): ServicePath {
  return { domain: domainOf(ctx), name: parseServiceName(ctx.params['name'], 'serviceName') };
}
