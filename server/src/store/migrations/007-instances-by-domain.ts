import type { Kysely } from 'kysely';

/** The instances of a domain are listed without those of the others. */
export async function indexInstancesByDomain(db: Kysely<unknown>): Promise<void> {
  const columns = ['domain', 'service', 'provider', 'instance_id'];
  await db.schema.createIndex('instances_by_domain').on('instances').columns(columns).execute();
}
