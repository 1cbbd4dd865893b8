import { type Kysely, sql } from 'kysely';

/** Partial indices, each over the rows of its query only. */
export async function addIndices(db: Kysely<unknown>): Promise<void> {
  await indexIssued(db);
  for (const table of ['role_members', 'group_members'] as const) {
    await db.schema
      .createIndex(`${table}_by_review`)
      .on(table)
      .column('review')
      .where(sql.ref('review'), 'is not', null)
      .execute();
  }
}

async function indexIssued(db: Kysely<unknown>): Promise<void> {
  const instance = ['domain', 'service', 'provider', 'instance_id'];
  await db.schema.createIndex('instances_by_domain').on('instances').columns(instance).execute();
  await db.schema.createIndex('join_tokens_by_end').on('join_tokens').column('expires').execute();
  await db.schema.dropIndex('certificates_by_state').execute();
  await db.schema
    .createIndex('certificates_intended')
    .on('certificates')
    .column('intended_at')
    .where(sql.ref('state'), '=', 'intended')
    .execute();
  // Includes the end, so that the index alone finds the valid ones, however many an instance had before.
  await db.schema.dropIndex('certificates_by_instance').execute();
  await db.schema
    .createIndex('certificates_of_instance')
    .on('certificates')
    .columns(['provider', 'instance_id', 'not_after'])
    .where(sql.ref('instance_id'), 'is not', null)
    .execute();
  // Index by key id; they are few beside those of X.509.
  await db.schema
    .createIndex('certificates_of_ssh')
    .on('certificates')
    .column('subject')
    .where(sql<boolean>`kind in ('ssh-user', 'ssh-host')`)
    .execute();
}
