import type { Kysely } from 'kysely';

/** Join tokens that ended are found without a look at the others. */
export async function indexJoinTokensByEnd(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('join_tokens_by_end').on('join_tokens').column('expires').execute();
}
