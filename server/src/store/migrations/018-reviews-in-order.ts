import type { Kysely } from 'kysely';
import { createIndex, type LargeIndex } from '../large-index.ts';

/** Reviews in the order in which they are listed: however many are due at one time, a page of them costs a page. */
export const reviewsInOrder: LargeIndex = {
  name: 'members_by_review_in_order',
  on: 'members (review, domain, kind, list, member) where review is not null',
};

/** A version from before does without the index that it has: it sorts what is due. */
export async function orderReviews(db: Kysely<unknown>): Promise<void> {
  await createIndex(db, reviewsInOrder);
  await db.schema.dropIndex('members_by_review').execute();
}
