import type Router from '@koa/router';
import { readJson } from '../body.ts';
import type { RequestState } from '../context.ts';
import { type AccessDeps, accessRoute } from '../routes/access.ts';
import type { ManagementRouteDeps } from './deps.ts';
import { mountDomainRoutes } from './domains.ts';
import { mountInstanceRoutes } from './instances.ts';
import { mountMemberListRoutes } from './member-lists.ts';
import { mountObjectChangeRoutes } from './object-changes.ts';
import { mountPolicyRoutes } from './policies.ts';
import { mountRecordRoutes } from './records.ts';
import { mountReviewRoute } from './reviews.ts';
import { mountServiceRoutes } from './services.ts';

/** Where the management API lives. */
export const managementPath = '/management/v1';

/** Every operation of the management API, and the access check of the token server beside them. */
export function mountManagementRoutes(
  router: Router<RequestState>,
  deps: ManagementRouteDeps,
  access: AccessDeps,
  bodyBytes: number,
): void {
  const body = readJson(bodyBytes);
  mountDomainRoutes(router, deps, body);
  mountMemberListRoutes(router, deps, body, 'role');
  mountMemberListRoutes(router, deps, body, 'group');
  mountPolicyRoutes(router, deps, body);
  mountServiceRoutes(router, deps, body);
  mountInstanceRoutes(router, deps);
  mountObjectChangeRoutes(router, deps);
  mountRecordRoutes(router, deps);
  mountReviewRoute(router, deps);
  router.get(`${deps.basePath}/access/:action`, accessRoute(access));
  router.get(`${deps.basePath}/access/:action/:resource`, accessRoute(access));
}

/** Whether a path of the management API only asks about access. */
export function isAccessCheck(path: string): boolean {
  return path.startsWith(`${managementPath}/access/`);
}

/** Whether a path belongs to the management API. */
export function isManagement(path: string): boolean {
  return path.startsWith(`${managementPath}/`);
}
