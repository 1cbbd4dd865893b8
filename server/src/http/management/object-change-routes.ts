import type { AuditRecord } from '../../model/records.ts';
import { type ObjectKey, type ObjectKind, objectKinds } from '../../model/store.ts';
import { sideOf } from '../../store/audit-objects.ts';
import { answerChanges, shownChange } from './change-pages.ts';
import { paidByCaller } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { objectOf, views } from './path-rights.ts';
import { viewedDomain } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

const pathParts: Readonly<Record<ObjectKind, string>> = {
  role: 'roles',
  group: 'groups',
  policy: 'policies',
  service: 'services',
};

/** Routes for the changes of one role, group, policy or service, newest first; deleted ones as well. */
export function mountObjectChangeRoutes(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  for (const kind of objectKinds) {
    const path = `${deps.basePath}/domains/:domainName/${pathParts[kind]}/:name/changes`;
    routes.get(path, views(objectOf[kind]), async (ctx) => {
      const full = objectOf[kind](ctx);
      const object = { kind, name: full.slice(`${kind}.`.length) };
      const { name: domain } = await viewedDomain(deps, ctx, full);
      await answerChanges(
        deps,
        ctx,
        { domain, object },
        paidByCaller(ctx, (record) => shownOf(record, object)),
      );
    });
  }
}

/** INVARIANT: of a change that touched more, only this object is shown: the caller may not be one who sees the rest. */
function shownOf({ before, after, ...record }: AuditRecord, object: ObjectKey): Record<string, unknown> {
  const [was, is] = [sideOf(before, object), sideOf(after, object)];
  return {
    ...shownChange(record),
    ...(was.length > 0 && { before: was }),
    ...(is.length > 0 && { after: is }),
  };
}
