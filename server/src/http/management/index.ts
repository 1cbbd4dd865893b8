import type Router from '@koa/router';
import type { JsonLimits } from '@signet/policy-engine/json';
import type { Quotas } from '../../model/records.ts';
import { readJson } from '../body.ts';
import type { RequestState } from '../context.ts';
import { type AccessDeps, accessRoute } from '../routes/access-route.ts';
import { mountCertificateRoutes } from './certificate-routes.ts';
import { mountDomainRoutes } from './domain-routes.ts';
import { mountInstanceRoutes } from './instances.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { mountMemberListRoutes } from './member-list-routes.ts';
import { mountObjectOperations } from './mount-object-operations.ts';
import { mountNameLists } from './name-lists.ts';
import { mountObjectChangeRoutes } from './object-change-routes.ts';
import type { PathRight } from './path-rights.ts';
import { mountPlanRoutes } from './plan-routes.ts';
import { mountQuestionRoutes } from './question-routes.ts';
import { mountRecordRoutes } from './record-routes.ts';
import { mountRequestRoutes } from './request-routes.ts';
import { mountReviewRoute } from './review-routes.ts';
import { ManagementRoutes, type StatedRoute } from './routes.ts';

export const managementPath = '/management/v1';
const managementPaths = `${managementPath}/`;
const accessPaths = `${managementPath}/access/`;

/** Maximum of values in a body; a member, assertion or condition has several. Scaled up for a larger quota by the items of its list. */
const maxBodyValues = 150_000;
const otherValues = 50_000;
/** Different names of members in a body: those of the fields, and of versions and keys. */
const maxBodyNames = 2000;

/** Limits of a body: no list that may be stored is longer than the largest quota, whatever it is a list of. */
export function bodyLimits(quotas: Quotas): JsonLimits {
  const items = Math.max(...Object.values(quotas));
  return { items, names: maxBodyNames, values: Math.max(maxBodyValues, items + otherValues) };
}

/** Every operation of the management API, and the access check of the token server beside them. Answers what each says of its right. */
export function mountManagementRoutes(
  router: Router<RequestState>,
  deps: ManagementRouteDeps,
  access: AccessDeps,
  bodyBytes: number,
): readonly StatedRoute[] {
  const routes = new ManagementRoutes(router, deps, readJson(bodyBytes, bodyLimits(deps.quotas)));
  mountDomainRoutes(routes, deps);
  mountMemberListRoutes(routes, deps, 'role');
  mountMemberListRoutes(routes, deps, 'group');
  mountObjectOperations(routes, deps);
  mountNameLists(routes, deps);
  mountInstanceRoutes(routes, deps);
  mountObjectChangeRoutes(routes, deps);
  mountPlanRoutes(routes, deps);
  mountRecordRoutes(routes, deps);
  mountRequestRoutes(routes, deps);
  mountReviewRoute(routes, deps);
  mountQuestionRoutes(routes, deps, access);
  mountCertificateRoutes(routes, deps);
  const ask: PathRight = { kind: 'untold', why: 'the query names the principal and the resource' };
  routes.get(`${deps.basePath}/access/:action`, ask, accessRoute(access));
  routes.get(`${deps.basePath}/access/:action/:resource`, ask, accessRoute(access));
  return routes.stated;
}

/** True if a path of the management API only checks access. */
export function isAccessCheck(path: string): boolean {
  return path.startsWith(accessPaths);
}

/** True if a path belongs to the management API. */
export function isManagement(path: string): boolean {
  return path.startsWith(managementPaths);
}
