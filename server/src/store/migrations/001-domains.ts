import type { Kysely } from 'kysely';

/** Domains and what belongs to them, written so that every database of the query layer understands it. */
export async function createDomainTables(db: Kysely<unknown>): Promise<void> {
  await createDomains(db);
  await createRoles(db);
  await createGroups(db);
  await createPolicies(db);
  await createServices(db);
}

async function createDomains(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('meta')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('epoch', 'bigint', (column) => column.notNull())
    .addColumn('counter', 'bigint', (column) => column.notNull())
    .addColumn('next_id', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('domains')
    .addColumn('name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('deleted', 'integer', (column) => column.notNull())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .addColumn('modified', 'bigint', (column) => column.notNull())
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('token_expiry_seconds', 'bigint')
    .addColumn('service_cert_expiry_seconds', 'bigint')
    .addColumn('role_cert_expiry_seconds', 'bigint')
    .execute();
  await db.schema.createIndex('domains_by_change').on('domains').column('changed_at').execute();
  await db.schema
    .createTable('cloud_accounts')
    .addColumn('domain', 'text', (column) => column.notNull().references('domains.name'))
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('cloud_accounts_key', ['domain', 'provider'])
    .execute();
}

async function createRoles(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('roles')
    .addColumn('domain', 'text', (column) => column.notNull().references('domains.name'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('trust', 'text')
    .addColumn('token_expiry_seconds', 'bigint')
    .addColumn('cert_expiry_seconds', 'bigint')
    .addPrimaryKeyConstraint('roles_key', ['domain', 'name'])
    .execute();
  await db.schema
    .createTable('role_members')
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('member', 'text', (column) => column.notNull())
    .addColumn('expires', 'bigint')
    .addColumn('disabled', 'integer', (column) => column.notNull())
    .addColumn('review', 'bigint')
    .addPrimaryKeyConstraint('role_members_key', ['domain', 'role', 'member'])
    .addForeignKeyConstraint('role_members_role', ['domain', 'role'], 'roles', ['domain', 'name'], (constraint) =>
      constraint.onDelete('cascade'),
    )
    .execute();
  await db.schema.createIndex('role_members_by_member').on('role_members').column('member').execute();
}

async function createGroups(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('groups')
    .addColumn('domain', 'text', (column) => column.notNull().references('domains.name'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addPrimaryKeyConstraint('groups_key', ['domain', 'name'])
    .execute();
  await db.schema
    .createTable('group_members')
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('group_name', 'text', (column) => column.notNull())
    .addColumn('member', 'text', (column) => column.notNull())
    .addColumn('expires', 'bigint')
    .addColumn('disabled', 'integer', (column) => column.notNull())
    .addColumn('review', 'bigint')
    .addPrimaryKeyConstraint('group_members_key', ['domain', 'group_name', 'member'])
    .addForeignKeyConstraint('group_members_group', ['domain', 'group_name'], 'groups', ['domain', 'name'], (c) =>
      c.onDelete('cascade'),
    )
    .execute();
  await db.schema.createIndex('group_members_by_member').on('group_members').column('member').execute();
}

async function createPolicies(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('policies')
    .addColumn('domain', 'text', (column) => column.notNull().references('domains.name'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('active', 'integer', (column) => column.notNull())
    .addColumn('modified', 'bigint', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('case_sensitive', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('policies_key', ['domain', 'name', 'version'])
    .execute();
  await db.schema
    .createTable('assertions')
    .addColumn('id', 'bigint', (column) => column.primaryKey().notNull())
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('policy', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('effect', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('resource', 'text', (column) => column.notNull())
    .addColumn('case_sensitive', 'integer', (column) => column.notNull())
    .addColumn('conditions', 'text')
    .addUniqueConstraint('assertions_order', ['domain', 'policy', 'version', 'position'])
    .addForeignKeyConstraint(
      'assertions_policy',
      ['domain', 'policy', 'version'],
      'policies',
      ['domain', 'name', 'version'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute();
}

async function createServices(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('services')
    .addColumn('domain', 'text', (column) => column.notNull().references('domains.name'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('provider_endpoint', 'text')
    .addPrimaryKeyConstraint('services_key', ['domain', 'name'])
    .execute();
  await db.schema
    .createTable('service_keys')
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('service', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('pem', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('service_keys_key', ['domain', 'service', 'key_id'])
    .addForeignKeyConstraint('service_keys_service', ['domain', 'service'], 'services', ['domain', 'name'], (c) =>
      c.onDelete('cascade'),
    )
    .execute();
  await db.schema
    .createTable('service_hosts')
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('service', 'text', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('host', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('service_hosts_key', ['domain', 'service', 'position'])
    .addForeignKeyConstraint('service_hosts_service', ['domain', 'service'], 'services', ['domain', 'name'], (c) =>
      c.onDelete('cascade'),
    )
    .execute();
}
