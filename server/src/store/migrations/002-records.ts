import type { Kysely } from 'kysely';

/** Tables of the server's own records: keys, certificates, instances, and the audit log. */
export async function createRecordTables(db: Kysely<unknown>): Promise<void> {
  await createSigningKeys(db);
  await createInstances(db);
  await createCertificates(db);
  await createAudit(db);
}

async function createSigningKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('signing_keys')
    .addColumn('kid', 'text', (column) => column.primaryKey().notNull())
    .addColumn('purpose', 'text', (column) => column.notNull())
    .addColumn('algorithm', 'text', (column) => column.notNull())
    .addColumn('public_jwk', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('activate_at', 'bigint', (column) => column.notNull())
    .addColumn('compromised_at', 'bigint')
    .execute();
}

async function createInstances(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('instances')
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('service', 'text', (column) => column.notNull())
    .addColumn('instance_id', 'text', (column) => column.notNull())
    .addColumn('current_serial', 'text', (column) => column.notNull())
    .addColumn('previous_serial', 'text')
    .addColumn('revoked', 'integer', (column) => column.notNull())
    .addColumn('client_only', 'integer', (column) => column.notNull())
    .addColumn('hostname', 'text')
    .addColumn('registered_at', 'bigint', (column) => column.notNull())
    .addColumn('refreshed_at', 'bigint', (column) => column.notNull())
    .addColumn('not_after', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('instances_key', ['provider', 'domain', 'service', 'instance_id'])
    .execute();
  await db.schema
    .createTable('join_tokens')
    .addColumn('digest', 'text', (column) => column.primaryKey().notNull())
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('service', 'text', (column) => column.notNull())
    .addColumn('instance_id', 'text', (column) => column.notNull())
    .addColumn('expires', 'bigint', (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('spent_at', 'bigint')
    .execute();
}

async function createCertificates(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('certificates')
    .addColumn('serial', 'text', (column) => column.primaryKey().notNull())
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('holder', 'text', (column) => column.notNull())
    .addColumn('provider', 'text')
    .addColumn('instance_id', 'text')
    .addColumn('intended_at', 'bigint', (column) => column.notNull())
    .addColumn('not_before', 'bigint', (column) => column.notNull())
    .addColumn('not_after', 'bigint', (column) => column.notNull())
    .addColumn('fingerprint', 'text')
    .addColumn('revoked_at', 'bigint')
    .addColumn('revocation_reason', 'text')
    .addColumn('revoked_by', 'text')
    .addColumn('revocation_sequence', 'bigint', (column) => column.unique())
    .execute();
  await db.schema.createIndex('certificates_by_end').on('certificates').column('not_after').execute();
  await db.schema.createIndex('certificates_by_state').on('certificates').columns(['state', 'intended_at']).execute();
  await db.schema
    .createIndex('certificates_by_instance')
    .on('certificates')
    .columns(['provider', 'instance_id'])
    .execute();
  await db.schema
    .createTable('crl_numbers')
    .addColumn('issuer', 'text', (column) => column.primaryKey().notNull())
    .addColumn('number', 'bigint', (column) => column.notNull())
    .execute();
}

async function createAudit(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('audit')
    .addColumn('id', 'bigint', (column) => column.primaryKey().notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('certificate_serial', 'text')
    .addColumn('request_id', 'text')
    .addColumn('reason', 'text')
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('version', 'bigint')
    .addColumn('counter', 'bigint', (column) => column.notNull())
    .addColumn('before', 'text')
    .addColumn('after', 'text')
    .execute();
  await db.schema.createIndex('audit_by_subject').on('audit').columns(['subject', 'id']).execute();
}
