import { parseDomainName } from '@signet/policy-engine/names';
import { type Kysely, type SqlBool, sql } from 'kysely';
import { compareReviews, type DueReview, type DueReviewQuery } from '../model/reviews.ts';
import type { Schema } from './database-schema.ts';
import { rowsAPage } from './read-members.ts';
import { optional } from './row-values.ts';

/**
 * The first members whose review is due, by the index of reviews. Read in pages of rows, between which requests go on being answered, and no
 * further than needed: any number may be due, and all at one time.
 */
export async function readDueReviews(db: Kysely<Schema>, query: DueReviewQuery): Promise<DueReview[]> {
  const { limit } = query;
  let found: DueReview[] = [];
  let last: Row | undefined;
  for (;;) {
    const rows = await readRows(db, query, last);
    query.looked?.(rows.length);
    for (const row of rows) {
      const review = reviewOf(row);
      const isWanted = query.after === undefined || compareReviews(review, query.after) > 0;
      if (isWanted && query.isVisible(review)) found.push(review);
    }
    last = rows.at(-1);
    found = found.sort(compareReviews).slice(0, limit);
    // What follows is later than all that were found, unless it is of the same time.
    const isFull = found.length === limit && (found.at(-1)?.review ?? 0) < (last?.review ?? 0);
    if (last === undefined || rows.length < rowsAPage || isFull) return found;
  }
}

interface Row extends Pick<DueReview, 'kind' | 'name' | 'member' | 'review'> {
  readonly place: number;
  readonly domain: string;
  readonly expires: number | null;
}

/** In the order of the index: by the time, then by the place of the row in its table. */
async function readRows(
  db: Kysely<Schema>,
  { at, domain, after }: DueReviewQuery,
  last: Row | undefined,
): Promise<readonly Row[]> {
  const rest =
    last === undefined
      ? sql<SqlBool>`review >= ${after?.review ?? Number.MIN_SAFE_INTEGER}`
      : sql<SqlBool>`(review, rowid) > (${last.review}, ${last.place})`;
  const only = domain === undefined ? sql`` : sql`and domain = ${domain}`;
  const { rows } = await sql<Row>`select rowid as place, domain, kind, list as name, member, review, expires
    from members where review is not null and review <= ${at} and ${rest} ${only}
    order by review, rowid limit ${rowsAPage}`.execute(db);
  return rows;
}

function reviewOf({ place: _, domain, expires, ...review }: Row): DueReview {
  return { ...review, domain: parseDomainName(domain), ...optional('expires', expires) };
}
