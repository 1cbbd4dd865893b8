import type { Kysely } from 'kysely';
import { z } from 'zod';
import { type DomainChange, type ListDiff, listName, written } from '../model/domain-change.ts';
import type { AuditRecord } from '../model/records.ts';
import type { ObjectKey, ObjectKind } from '../model/store.ts';
import type { Schema } from './database-schema.ts';

import { chunks } from './row-values.ts';

const fields = { role: 'roles', group: 'groups', policy: 'policies', service: 'services' } as const;
const named = z.array(z.looseObject({ name: z.string() }));
const orNone = named.default([]);
const sideSchema = z.object({ roles: orNone, groups: orNone, policies: orNone, services: orNone });

const rowsAStatement = 500;

/** Part of an audit record about one object before or after a change; empty where it does not name it. */
export function sideOf(text: string | undefined, { kind, name }: ObjectKey): readonly unknown[] {
  return text === undefined
    ? []
    : sideSchema.parse(JSON.parse(text))[fields[kind]].filter((item) => item.name === name);
}

/**
 * Record reduced to the names of roles and groups that its reader may not look at: `sees` is called with `role.<name>` and `group.<name>`.
 * Readers of a domain know their names, and not their members.
 */
export function withoutHidden(
  { before, after, ...record }: AuditRecord,
  sees: (object: string) => boolean,
): AuditRecord {
  return {
    ...record,
    ...(before !== undefined && { before: sideWithoutHidden(before, sees) }),
    ...(after !== undefined && { after: sideWithoutHidden(after, sees) }),
  };
}

const listsSchema = z.looseObject({ roles: named.optional(), groups: named.optional() });

function sideWithoutHidden(text: string, sees: (object: string) => boolean): string {
  const { roles, groups, ...rest } = listsSchema.parse(JSON.parse(text));
  const shown = (kind: 'role' | 'group', items: z.output<typeof named>) =>
    items.map((item) => (sees(`${kind}.${item.name}`) ? item : { name: item.name }));
  return JSON.stringify({
    ...rest,
    ...(roles !== undefined && { roles: shown('role', roles) }),
    ...(groups !== undefined && { groups: shown('group', groups) }),
  });
}

/** Notes which things of a domain a record concerns, so that their changes are found without reading the log. */
export async function insertAuditObjects(
  db: Kysely<Schema>,
  { id, subject }: { readonly id: number; readonly subject: string },
  objects: readonly ObjectKey[],
): Promise<void> {
  const rows = objects.map(({ kind, name }) => ({ domain: subject, kind, name, audit_id: id }));
  for (const part of chunks(rows, rowsAStatement)) await db.insertInto('audit_objects').values(part).execute();
}

/** Objects of a domain that a change concerns: those that its audit record names. */
export function objectsOf({ roles, groups, policies, services }: DomainChange): readonly ObjectKey[] {
  const of = (kind: ObjectKind, names: readonly string[]) => [...new Set(names)].map((name) => ({ kind, name }));
  const named = (diff: ListDiff<{ readonly name: string }>) =>
    [...diff.removed, ...written(diff)].map(({ name }) => name);
  return [
    ...of('role', roles.map(listName)),
    ...of('group', groups.map(listName)),
    ...of('policy', named(policies)),
    ...of('service', named(services)),
  ];
}
