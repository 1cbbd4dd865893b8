import type { Kysely } from 'kysely';

/** Private halves of signing keys, encrypted: no server but those that have the sealing key can use them. */
export async function addSealedKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('signing_keys').addColumn('sealing_key', 'text').execute();
  await db.schema.alterTable('signing_keys').addColumn('sealed', 'text').execute();
}
