import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { ObjectKey } from '../../model/store.ts';
import { insertAuditObjects } from '../audit-objects.ts';
import type { Schema } from '../database-schema.ts';

const recordsARead = 500;

/** Changes are found by role, group, policy and service; domains may have quotas of their own; who trusts a domain is found fast. */
export async function addObjectChanges(db: Kysely<Schema>): Promise<void> {
  await db.schema.alterTable('domains').addColumn('quotas', 'text').execute();
  await db.schema.createIndex('roles_by_trust').on('roles').column('trust').execute();
  await db.schema
    .createTable('audit_objects')
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('audit_id', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('audit_objects_key', ['domain', 'kind', 'name', 'audit_id'])
    .execute();
  for (let last = 0; ; ) {
    const rows = await db
      .selectFrom('audit')
      .select(['id', 'subject', 'before', 'after'])
      .where('action', 'in', ['create', 'change', 'delete'])
      .where('id', '>', last)
      .orderBy('id')
      .limit(recordsARead)
      .execute();
    for (const row of rows) await insertAuditObjects(db, row, objectsIn(row));
    last = rows.at(-1)?.id ?? last;
    if (rows.length < recordsARead) return;
  }
}

const lists = { role: 'roles', group: 'groups', policy: 'policies', service: 'services' } as const;
const named = z.array(z.looseObject({ name: z.string() })).default([]);
const sideSchema = z.object({ roles: named, groups: named, policies: named, services: named });

/** Objects named by a record from before this step. Since then they are written with the record. */
function objectsIn(record: { readonly before: string | null; readonly after: string | null }): ObjectKey[] {
  const sides = [record.before, record.after].map((text) => sideSchema.parse(JSON.parse(text ?? '{}')));
  return (['role', 'group', 'policy', 'service'] as const).flatMap((kind) => {
    const names = new Set(sides.flatMap((side) => side[lists[kind]].map(({ name }) => name)));
    return [...names].map((name) => ({ kind, name }));
  });
}
