import { type Kysely, sql } from 'kysely';

/**
 * Last revocation list of each issuer, which all servers of the store serve. Only its number was kept before; as its entries are unknown, the
 * next list holds everything that expired since the beginning and is still kept.
 */
export async function keepRevocationLists(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('revocation_lists')
    .addColumn('issuer', 'text', (column) => column.primaryKey().notNull())
    .addColumn('number', 'bigint', (column) => column.notNull())
    .addColumn('sequence', 'bigint', (column) => column.notNull())
    .addColumn('this_update', 'bigint', (column) => column.notNull())
    .addColumn('next_update', 'bigint', (column) => column.notNull())
    .addColumn('list', 'text')
    .execute();
  await sql`insert into revocation_lists (issuer, number, sequence, this_update, next_update)
    select issuer, number, 0, 0, 0 from crl_numbers`.execute(db);
  await db.schema.dropTable('crl_numbers').execute();
  await db.schema
    .createIndex('certificates_revoked_by_end')
    .on('certificates')
    .columns(['issuer', 'not_after', 'serial'])
    .where(sql.ref('revocation_sequence'), 'is not', null)
    .execute();
}
