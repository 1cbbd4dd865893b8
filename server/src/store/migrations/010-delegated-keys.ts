import { type Kysely, sql } from 'kysely';

/**
 * Column of services' public keys that marks registration by a delegate. Existing keys, whose origin is unknown, count as registered by
 * administrators.
 */
export async function addDelegatedKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('service_keys')
    .addColumn('delegated', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`create index service_keys_delegated on service_keys (domain, service) where delegated = 1`.execute(db);
}
