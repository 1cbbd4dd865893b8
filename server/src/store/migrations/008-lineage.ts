import { type Kysely, sql } from 'kysely';
import type { Schema } from '../database-schema.ts';

/**
 * Columns that bound the life of a credential: whether the previous serial number of an instance was used once, whether its provider allowed SSH
 * (unknown of those registered before, until they refresh: no), the key that vouched for a service's certificate and the certificate that asked
 * for one of SSH (both unknown of those issued before), join tokens that ended with their instance, and attestation tokens that were used once.
 */
export async function addLineage(db: Kysely<Schema>): Promise<void> {
  for (const column of ['previous_used', 'ssh_allowed']) {
    await db.schema
      .alterTable('instances')
      .addColumn(column, 'integer', (definition) => definition.notNull().defaultTo(0))
      .execute();
  }
  for (const column of ['vouched_key', 'asking_serial']) {
    await db.schema.alterTable('certificates').addColumn(column, 'text').execute();
  }
  await db.schema
    .createIndex('certificates_by_asking')
    .on('certificates')
    .column('asking_serial')
    .where(sql.ref('asking_serial'), 'is not', null)
    .execute();
  await db.schema
    .createIndex('certificates_by_key')
    .on('certificates')
    .columns(['subject', 'vouched_key'])
    .where(sql.ref('vouched_key'), 'is not', null)
    .execute();
  await db.schema.alterTable('join_tokens').addColumn('ended_at', 'bigint').execute();
  await db.schema
    .createIndex('join_tokens_of_instance')
    .on('join_tokens')
    .columns(['instance_id', 'service', 'domain', 'provider'])
    .execute();
  await db.schema
    .createTable('attestation_tokens')
    .addColumn('digest', 'text', (column) => column.primaryKey().notNull())
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('service', 'text', (column) => column.notNull())
    .addColumn('instance_id', 'text', (column) => column.notNull())
    .addColumn('expires', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('attestation_tokens_by_end').on('attestation_tokens').column('expires').execute();
}
