import {
  type ObjectOperation,
  type ObjectOperationId,
  objectOperations,
} from '../../management/edits/object-operations.ts';
import { bodyJson } from '../body.ts';
import { answerOperation } from './answer-operation.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { manages, objectOf, type PathRight, views } from './path-rights.ts';
import { answerObject } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** Mounts the operations on domains and their objects. */
export function mountObjectOperations(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  for (const [id, one] of Object.entries<ObjectOperation>(objectOperations)) {
    const { method, path, edit } = one;
    const full = `${deps.basePath}/domains/:domainName${path.replace(/\{(\w+)\}/g, ':$1')}`;
    const takesBody = method === 'put' || method === 'post';
    routes.mount(method, full, pathRightOf(one), async (ctx) => {
      const asked = { params: ctx.params, body: takesBody ? bodyJson(ctx) : undefined, quotas: deps.quotas };
      if (method === 'get' && edit !== undefined) return await answerObject(deps, ctx, edit(asked));
      await answerOperation(deps, ctx, { id: id as ObjectOperationId, asked });
    });
  }
}

function pathRightOf({ needs: { object, right, systemOnly } }: ObjectOperation): PathRight {
  if (right === undefined) return views(objectOf[object]);
  return { ...manages(right, objectOf[object]), ...(systemOnly === true && { systemOnly }) };
}
