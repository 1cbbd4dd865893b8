import type Router from '@koa/router';
import { parseGroupName, parsePolicyName, parseRoleName, parseServiceName } from '@signet/policy-engine/names';
import { type ObjectKey, type ObjectKind, objectKinds, sideOf } from '../../store/audit-objects.ts';
import type { AuditRecord } from '../../store/records.ts';
import type { RequestState } from '../context.ts';
import { answerChanges, shownChange } from './change-pages.ts';
import type { ManagementRouteDeps } from './deps.ts';
import { viewedDomain } from './request.ts';

const parsers: Readonly<Record<ObjectKind, (value: unknown, field: string) => string>> = {
  role: parseRoleName,
  group: parseGroupName,
  policy: parsePolicyName,
  service: parseServiceName,
};

const pathParts: Readonly<Record<ObjectKind, string>> = {
  role: 'roles',
  group: 'groups',
  policy: 'policies',
  service: 'services',
};

/** What was changed in one role, group, policy or service, newest first; of those that are gone as well. */
export function mountObjectChangeRoutes(router: Router<RequestState>, deps: ManagementRouteDeps): void {
  for (const kind of objectKinds) {
    router.get(`${deps.basePath}/domains/:domainName/${pathParts[kind]}/:name/changes`, async (ctx) => {
      const object = { kind, name: parsers[kind](ctx.params['name'], `${kind}Name`) };
      const { name: domain } = await viewedDomain(deps, ctx, `${kind}.${object.name}`);
      await answerChanges(deps, ctx, { domain, object }, (record) => shownOf(record, object));
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
