import type { Kysely } from 'kysely';

/** What issuing and taking back certificates needs beside the records of 002. */
export async function createIdentityTables(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('certificates').addColumn('issuer', 'text').execute();
  await db.schema
    .createIndex('certificates_by_instance')
    .on('certificates')
    .columns(['provider', 'instance_id', 'not_after'])
    .execute();
  await db.schema
    .alterTable('instances')
    .addColumn('client_only', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .createTable('join_tokens')
    .addColumn('digest', 'text', (column) => column.primaryKey().notNull())
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('service', 'text', (column) => column.notNull())
    .addColumn('instance_id', 'text', (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('expires', 'bigint', (column) => column.notNull())
    .addColumn('spent_at', 'bigint')
    .execute();
  await db.schema
    .createTable('revocations')
    .addColumn('sequence', 'bigint', (column) => column.primaryKey().notNull())
    .addColumn('serial', 'text', (column) => column.notNull().unique())
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('revoked_at', 'bigint', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('by', 'text', (column) => column.notNull())
    .addColumn('not_after', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('crl_numbers')
    .addColumn('issuer', 'text', (column) => column.primaryKey().notNull())
    .addColumn('number', 'bigint', (column) => column.notNull())
    .execute();
}
