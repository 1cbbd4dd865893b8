import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';

/** Smaller indices of what is issued: only of intents that nobody confirmed, and only of certificates that instances hold. */
export async function slimCertificateIndices(db: Kysely<Schema>): Promise<void> {
  await db.schema.dropIndex('certificates_by_state').execute();
  await db.schema
    .createIndex('certificates_intended')
    .on('certificates')
    .column('intended_at')
    .where(sql.ref('state'), '=', 'intended')
    .execute();
  await db.schema.dropIndex('certificates_by_instance').execute();
  await db.schema
    .createIndex('certificates_of_instance')
    .on('certificates')
    .columns(['provider', 'instance_id'])
    .where('instance_id', 'is not', null)
    .execute();
}
