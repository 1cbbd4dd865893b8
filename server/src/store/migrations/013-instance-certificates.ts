import { type Kysely, sql } from 'kysely';

/** Which certificates of an instance still count is answered by the index alone, however many it had before. */
export async function indexInstanceCertificates(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('certificates_of_instance').execute();
  await db.schema
    .createIndex('certificates_of_instance')
    .on('certificates')
    .columns(['provider', 'instance_id', 'not_after'])
    .where(sql.ref('instance_id'), 'is not', null)
    .execute();
}
