import { type Kysely, sql } from 'kysely';

/** SSH certificates are found by their key id. They are few beside those of X.509, which this index leaves alone. */
export async function indexSshCertificates(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('certificates_of_ssh')
    .on('certificates')
    .column('subject')
    .where(sql<boolean>`kind in ('ssh-user', 'ssh-host')`)
    .execute();
}
