import { type DomainName, parseDomainName } from '@signet/policy-engine/names';
import type { Kysely } from 'kysely';
import { optional } from './row-values.ts';
import type { Schema } from './schema.ts';

/** A member that somebody should look at again. */
export interface DueReview {
  readonly domain: DomainName;
  readonly kind: 'role' | 'group';
  /** The role or group. */
  readonly name: string;
  readonly member: string;
  /** Milliseconds since the epoch, as `expires`. */
  readonly review: number;
  readonly expires?: number;
}

/** Every member whose review is due at `at` (milliseconds), by the index of reviews; in no order. */
export async function readDueReviews(db: Kysely<Schema>, at: number): Promise<DueReview[]> {
  const columns = ['domain', 'member', 'review', 'expires'] as const;
  const roles = await db
    .selectFrom('role_members')
    .select([...columns, 'role as name'])
    .where('review', '<=', at)
    .execute();
  const groups = await db
    .selectFrom('group_members')
    .select([...columns, 'group_name as name'])
    .where('review', '<=', at)
    .execute();
  const reviewOf = (kind: DueReview['kind']) => (row: (typeof roles)[number]) => ({
    domain: parseDomainName(row.domain),
    kind,
    name: row.name,
    member: row.member,
    review: row.review ?? at,
    ...optional('expires', row.expires),
  });
  return [...roles.map(reviewOf('role')), ...groups.map(reviewOf('group'))];
}
