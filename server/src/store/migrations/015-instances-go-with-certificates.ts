import type { Kysely } from 'kysely';

/** An instance is forgotten with the last of its certificates: nobody asks any more which of them have ended. */
export async function dropInstancesByEnd(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('instances_by_end').execute();
}
