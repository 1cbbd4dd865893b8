import { type Kysely, sql } from 'kysely';
import type { Schema } from '../database-schema.ts';

/**
 * Records of names: which domain has which form in DNS, which names were deleted, and from when on the credentials of a name that was used again
 * are valid. Certificates are found by their holders.
 */
export async function addNames(db: Kysely<Schema>): Promise<void> {
  await db.schema.alterTable('domains').addColumn('dns_form', 'text').execute();
  for (const table of ['domains', 'services'] as const) {
    await db.schema
      .alterTable(table)
      .addColumn('credentials_from', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute();
  }
  await db.schema
    .createTable('ended_names')
    .addColumn('name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('ended_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_by', 'text', (column) => column.notNull())
    .execute();
  await giveForms(db);
  await noteEndedNames(db);
  await db.schema.createIndex('domains_by_dns_form').on('domains').column('dns_form').unique().execute();
  await db.schema.createIndex('certificates_by_holder').on('certificates').columns(['holder', 'not_after']).execute();
  await db.schema
    .createIndex('certificates_by_subject')
    .on('certificates')
    .columns(['subject', 'not_after'])
    .where(sql<boolean>`kind in ('service', 'role')`)
    .execute();
  await db.schema.createIndex('join_tokens_of_service').on('join_tokens').columns(['domain', 'service']).execute();
}

/** Assigns DNS forms: of domains with one form the oldest has it, existing ones before deleted ones; the others have no DNS names. */
async function giveForms(db: Kysely<Schema>): Promise<void> {
  const created = db
    .selectFrom('audit')
    .select((select) => ['subject', select.fn.max('id').as('id')])
    .where('action', '=', 'create')
    .groupBy('subject')
    .as('created');
  const rows = await db
    .selectFrom('domains')
    .leftJoin(created, 'created.subject', 'domains.name')
    .select(['domains.name', 'domains.deleted'])
    .orderBy('domains.deleted')
    // Domains that the log does not mention come last.
    .orderBy(sql`coalesce(created.id, 9007199254740991)`)
    .orderBy('domains.name')
    .execute();
  const taken = new Set<string>();
  for (const { name } of rows) {
    const form = name.replaceAll('.', '-');
    if (taken.has(form)) continue;
    taken.add(form);
    await db.updateTable('domains').set({ dns_form: form }).where('name', '=', name).execute();
  }
}

/** Records the names that were deleted before: domains, and services that the audit log names and that do not exist. */
async function noteEndedNames(db: Kysely<Schema>): Promise<void> {
  await sql`insert into ended_names (name, ended_at, ended_by)
    select name, modified, 'migration' from domains where deleted = 1`.execute(db);
  await sql`insert into ended_names (name, ended_at, ended_by)
    select audit_objects.domain || '.' || audit_objects.name, max(audit.at), 'migration'
    from audit_objects join audit on audit.id = audit_objects.audit_id
    where audit_objects.kind = 'service' and not exists (
      select 1 from services where services.domain = audit_objects.domain and services.name = audit_objects.name)
    and audit_objects.domain || '.' || audit_objects.name not in (select name from ended_names)
    group by audit_objects.domain, audit_objects.name`.execute(db);
}
