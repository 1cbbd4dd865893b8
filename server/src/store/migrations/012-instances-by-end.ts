import type { Kysely } from 'kysely';

/** Instances that ended long ago are found without a look at those that live. */
export async function indexInstancesByEnd(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('instances_by_end').on('instances').column('not_after').execute();
}
