import { runInSlices } from '@signet/policy-engine/internal/slices';
import { type DomainName, parseActionName, parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { maxActionLength, maxResourceLength } from '@signet/policy-engine/policy';
import { InvalidRequestError } from '../../errors.ts';
import { keyOfEntry, listAccessInSteps } from '../../management/list-access.ts';
import { readPage } from '../../management/paging.ts';
import { keyOfHit, search } from '../../management/search.ts';
import type { AuditRecord } from '../../model/records.ts';
import { withoutHidden } from '../../store/audit-objects.ts';
import { comparedFor } from '../compared-for.ts';
import { type RouteContext, requireIdentity } from '../context.ts';
import { answerChanges, commonFilters, shownChange } from './change-pages.ts';
import { askedBy, lookedAt, paidByCaller, viewerFor } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { objectOf, views } from './path-rights.ts';
import { answerView, pageRequestOf, queryOf, viewedDomain } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** Routes for lists of changes, newest first, and for searches of a principal, resource or action. */
export function mountRecordRoutes(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  routes.get(`${deps.basePath}/domains/:domainName/changes`, views(objectOf.domain), async (ctx) => {
    const { name: domain } = await viewedDomain(deps, ctx);
    const viewer = viewerFor(deps, ctx);
    const sees = (object: string) => viewer.sees(domain, object);
    const seen = (record: AuditRecord) => (viewer.seesAll(domain) ? record : withoutHidden(record, sees));
    const show = (record: AuditRecord) => shownChange(seen(record));
    await answerChanges(deps, ctx, { domain, filters: commonFilters, seen }, paidByCaller(ctx, show));
  });
  routes.get(`${deps.basePath}/changes`, { kind: 'operator', right: 'view_domain' }, (ctx) =>
    answerChanges(deps, ctx, { filters: [...commonFilters, 'subject'] }, paidByCaller(ctx, shownChange)),
  );
  routes.get(
    `${deps.basePath}/search`,
    { kind: 'untold', why: 'the answer holds what the caller may look at' },
    async (ctx) => {
      const query = queryOf(ctx, ['member', 'resource', 'action', 'limit', 'cursor']);
      const { member, resource, action } = Object.fromEntries(query);
      if (member === undefined && resource === undefined && action === undefined) {
        throw new InvalidRequestError('the query needs member, resource or action');
      }
      requireLength('resource', resource, maxResourceLength);
      requireLength('action', action, maxActionLength);
      const snapshot = deps.snapshot();
      const wanted = {
        ...(member !== undefined && { member }),
        ...(resource !== undefined && { resource }),
        ...(action !== undefined && { action }),
      };
      const { sees } = viewerFor({ ...deps, snapshot: () => snapshot }, ctx);
      const isVisible = (domain: DomainName) => sees(domain, 'domain');
      const looked = (rows: number) => lookedAt(ctx, 'row', rows);
      const compared = comparedFor(ctx);
      const searched = { snapshot, store: deps.store, isVisible, sees, looked, compared };
      const read = (after: string, limit: number) => search(searched, wanted, after, limit);
      await answerView(ctx, await readPage(read, keyOfHit, pageRequestOf(ctx, query), deps.pagingSecret));
    },
  );
  routes.get(
    `${deps.basePath}/access`,
    { kind: 'untold', why: 'the answer holds what the caller may look at, and what is about itself' },
    async (ctx) => {
      const query = queryOf(ctx, ['principal', 'action', 'domain', 'limit', 'cursor']);
      const asked = accessQueryOf(ctx, query);
      const { viewer, caller, ...listing } = askedBy(deps, ctx);
      const listed = { ...listing, sees: viewer.sees, isSelf: caller === asked.principal };
      const read = (after: string, limit: number) => runInSlices(listAccessInSteps(listed, asked, { after, limit }));
      await answerView(ctx, await readPage(read, keyOfEntry, pageRequestOf(ctx, query), deps.pagingSecret));
    },
  );
}

/** Rejects a resource or action that is longer than a stored one can be. */
function requireLength(name: string, text: string | undefined, most: number): void {
  if (text !== undefined && text.length > most) {
    throw new InvalidRequestError(`${name} must have at most ${most} characters`);
  }
}

/** Query about access: the principal, and the part of its access. */
function accessQueryOf(ctx: RouteContext, query: ReadonlyMap<string, string>) {
  const [principal, action, domain] = ['principal', 'action', 'domain'].map((name) => query.get(name));
  return {
    principal: principal === undefined ? requireIdentity(ctx).name : parsePrincipalName(principal, 'principal'),
    ...(action !== undefined && { action: parseActionName(action, 'action') }),
    ...(domain !== undefined && { domain: parseDomainName(domain, 'domain') }),
  };
}
