import { formatTimestamp, parseTimestamp } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../../errors.ts';
import { mayView } from '../../management/rights.ts';
import { requireIdentity } from '../context.ts';
import type { ManagementRouteDeps } from './deps.ts';
import { answerPage, queryOf } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** The members whose review is due, the oldest first, in every domain that the caller may look at. */
export function mountReviewRoute(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  routes.get(
    `${deps.basePath}/reviews`,
    { kind: 'untold', why: 'the answer holds what the caller may look at' },
    async (ctx) => {
      const caller = requireIdentity(ctx).name;
      const query = queryOf(ctx, ['before', 'domain', 'limit', 'cursor']);
      const now = deps.clock.now();
      const text = query.get('before');
      const before = text === undefined ? now : parseTimestamp(text);
      if (before === undefined)
        throw new InvalidRequestError('before must be a UTC time such as `2027-01-01T00:00:00Z`');
      const only = query.get('domain');
      const domain = only === undefined ? undefined : parseDomainName(only, 'domain');
      const snapshot = deps.snapshot();
      const due = (await deps.store.dueReviews(before)).filter((one) => {
        if (domain !== undefined && one.domain !== domain) return false;
        return mayView(snapshot, caller, one.domain, `${one.kind}.${one.name}`, now);
      });
      const shown = due.map(({ review, expires, ...member }) => ({
        ...member,
        review: formatTimestamp(review),
        ...(expires !== undefined && { expires: formatTimestamp(expires) }),
      }));
      const keyOf = (one: (typeof shown)[number]) =>
        JSON.stringify([one.review, one.domain, one.kind, one.name, one.member]);
      answerPage(
        deps,
        ctx,
        shown.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
        keyOf,
        query,
      );
    },
  );
}
