import { pauseBetweenSlices } from '@signet/policy-engine/internal/slices';
import { parseDomainName } from '@signet/policy-engine/names';
import { type Kysely, type SqlBool, sql } from 'kysely';
import type { DueReview, DueReviewQuery, ReviewPlace } from '../model/reviews.ts';
import type { Schema } from './database-schema.ts';
import { rowsAPage } from './read-members.ts';
import { optional } from './row-values.ts';

/**
 * The first members whose review is due, in the order of the index of reviews. Read in pages of rows,
 * and no further than needed: any number may be due. Whether one is visible may take a decision, so that others have their turn meanwhile.
 */
export async function readDueReviews(db: Kysely<Schema>, query: DueReviewQuery): Promise<DueReview[]> {
  const { limit } = query;
  const found: DueReview[] = [];
  const pause = pauseBetweenSlices();
  let last = query.after;
  for (;;) {
    const rows = await readRows(db, query, last);
    query.looked?.(rows.length);
    const page = rows.map(reviewOf);
    for (const review of page) {
      if (query.isVisible(review)) found.push(review);
      if (found.length === limit) return found;
      await pause();
    }
    last = page.at(-1);
    if (last === undefined || rows.length < rowsAPage) return found;
  }
}

interface Row extends Pick<DueReview, 'kind' | 'name' | 'member' | 'review'> {
  readonly domain: string;
  readonly expires: number | null;
}

async function readRows(
  db: Kysely<Schema>,
  { at, domain }: DueReviewQuery,
  last: ReviewPlace | undefined,
): Promise<readonly Row[]> {
  const rest =
    last === undefined
      ? sql<SqlBool>`review >= ${Number.MIN_SAFE_INTEGER}`
      : sql<SqlBool>`(review, domain, kind, list, member)
          > (${last.review}, ${last.domain}, ${last.kind}, ${last.name}, ${last.member})`;
  const only = domain === undefined ? sql`` : sql`and domain = ${domain}`;
  const { rows } = await sql<Row>`select domain, kind, list as name, member, review, expires
    from members where review is not null and review <= ${at} and ${rest} ${only}
    order by review, domain, kind, list, member limit ${rowsAPage}`.execute(db);
  return rows;
}

function reviewOf({ domain, expires, ...review }: Row): DueReview {
  return { ...review, domain: parseDomainName(domain), ...optional('expires', expires) };
}
