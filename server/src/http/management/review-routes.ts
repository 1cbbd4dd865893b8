import { formatTimestamp, parseTimestamp } from '@signet/policy-engine/clock';
import { type DomainName, parseDomainName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../../errors.ts';
import { readPage } from '../../management/paging.ts';
import type { DueReview, ReviewPlace } from '../../model/reviews.ts';
import { lookedAt, viewerFor } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { answerView, pageRequestOf, queryOf } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** The members whose review is due, the oldest first, in every domain that the caller may look at. */
export function mountReviewRoute(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  routes.get(
    `${deps.basePath}/reviews`,
    { kind: 'untold', why: 'the answer holds what the caller may look at' },
    async (ctx) => {
      const query = queryOf(ctx, ['before', 'domain', 'limit', 'cursor']);
      const now = deps.clock.now();
      const text = query.get('before');
      const before = text === undefined ? now : parseTimestamp(text);
      if (before === undefined)
        throw new InvalidRequestError('before must be a UTC time such as `2027-01-01T00:00:00Z`');
      const only = query.get('domain');
      const domain = only === undefined ? undefined : parseDomainName(only, 'domain');
      const isVisible = visibleLists(viewerFor(deps, ctx).sees);
      const read = async (after: string, limit: number) => {
        const place = after === '' ? {} : { after: placeOf(after) };
        const due = await deps.store.dueReviews({
          at: before,
          ...(domain !== undefined && { domain }),
          ...place,
          limit,
          isVisible,
          looked: (rows) => lookedAt(ctx, 'row', rows),
        });
        return due.map(shown);
      };
      await answerView(ctx, await readPage(read, keyOf, pageRequestOf(ctx, query), deps.pagingSecret));
    },
  );
}

/** Predicate: the caller may look at the role or group; decided once for each. */
function visibleLists(sees: (domain: DomainName, object: string) => boolean): (review: DueReview) => boolean {
  const known = new Map<string, boolean>();
  return ({ domain, kind, name }) => {
    const key = `${domain}:${kind}.${name}`;
    const isVisible = known.get(key) ?? sees(domain, `${kind}.${name}`);
    known.set(key, isVisible);
    return isVisible;
  };
}

function shown({ review, expires, ...member }: DueReview) {
  return {
    ...member,
    review: formatTimestamp(review),
    ...(expires !== undefined && { expires: formatTimestamp(expires) }),
  };
}

function keyOf({ review, domain, kind, name, member }: ReturnType<typeof shown>): string {
  return JSON.stringify([review, domain, kind, name, member]);
}

/** Place encoded in a key by `keyOf`, from a cursor that was signed here. */
function placeOf(key: string): ReviewPlace {
  const [review, domain, kind, name, member] = JSON.parse(key) as [
    string,
    DomainName,
    DueReview['kind'],
    string,
    string,
  ];
  return { review: parseTimestamp(review) ?? 0, domain, kind, name, member };
}
