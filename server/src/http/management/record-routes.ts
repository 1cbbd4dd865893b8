import type { DomainName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../../errors.ts';
import { readPage } from '../../management/paging.ts';
import { mayView, viewerOf } from '../../management/rights.ts';
import { keyOfHit, search } from '../../management/search.ts';
import type { AuditRecord } from '../../model/records.ts';
import { withoutHidden } from '../../store/audit-objects.ts';
import { requireIdentity } from '../context.ts';
import { answerChanges, commonFilters, shownChange } from './change-pages.ts';
import { lookedAt, paidByCaller } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { objectOf, views } from './path-rights.ts';
import { answerView, pageRequestOf, queryOf, viewedDomain } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** What was changed, newest first, and where a principal, resource or action is found. */
export function mountRecordRoutes(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  routes.get(`${deps.basePath}/domains/:domainName/changes`, views(objectOf.domain), async (ctx) => {
    const { name: domain } = await viewedDomain(deps, ctx);
    const viewer = viewerOf(deps.snapshot(), requireIdentity(ctx).name, deps.clock.now());
    const sees = (object: string) => {
      lookedAt(ctx, 'viewDecision');
      return viewer.sees(domain, object);
    };
    const show = viewer.seesAll(domain)
      ? shownChange
      : (record: AuditRecord) => shownChange(withoutHidden(record, sees));
    await answerChanges(deps, ctx, { domain, filters: commonFilters }, paidByCaller(ctx, show));
  });
  routes.get(`${deps.basePath}/changes`, { kind: 'operator', right: 'view_domain' }, (ctx) =>
    answerChanges(deps, ctx, { filters: [...commonFilters, 'subject'] }, paidByCaller(ctx, shownChange)),
  );
  routes.get(
    `${deps.basePath}/search`,
    { kind: 'untold', why: 'the answer holds what the caller may look at' },
    async (ctx) => {
      const caller = requireIdentity(ctx).name;
      const query = queryOf(ctx, ['member', 'resource', 'action', 'limit', 'cursor']);
      const { member, resource, action } = Object.fromEntries(query);
      if (member === undefined && resource === undefined && action === undefined) {
        throw new InvalidRequestError('the query needs member, resource or action');
      }
      const snapshot = deps.snapshot();
      const now = deps.clock.now();
      const wanted = {
        ...(member !== undefined && { member }),
        ...(resource !== undefined && { resource }),
        ...(action !== undefined && { action }),
      };
      const sees = (domain: DomainName, object: string) => {
        lookedAt(ctx, 'viewDecision');
        return mayView(snapshot, { caller, domain, object }, now);
      };
      const isVisible = (domain: DomainName) => sees(domain, 'domain');
      const looked = (rows: number) => lookedAt(ctx, 'row', rows);
      const searched = { snapshot, store: deps.store, isVisible, sees, looked };
      const read = (after: string, limit: number) => search(searched, wanted, after, limit);
      await answerView(ctx, await readPage(read, keyOfHit, pageRequestOf(ctx, query), deps.pagingSecret));
    },
  );
}
