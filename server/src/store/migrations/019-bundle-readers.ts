import type { Kysely } from 'kysely';

/** Services whose hosts keep the bundle of a domain. A version from before leaves the column alone. */
export async function addBundleReaders(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('domains').addColumn('bundle_readers', 'text').execute();
}
