import type { Kysely } from 'kysely';
import { z } from 'zod';
import { chunks } from './row-values.ts';
import type { Schema } from './schema.ts';

/** What a domain consists of, as far as changes are found by it. */
export const objectKinds = ['role', 'group', 'policy', 'service'] as const;
export type ObjectKind = (typeof objectKinds)[number];

/** One of the things of a domain. */
export interface ObjectKey {
  readonly kind: ObjectKind;
  readonly name: string;
}

const fields = { role: 'roles', group: 'groups', policy: 'policies', service: 'services' } as const;
const named = z.array(z.looseObject({ name: z.string() })).default([]);
const sideSchema = z.object({ roles: named, groups: named, policies: named, services: named });

const rowsAStatement = 500;

/** What a record says of one object before or after a change; empty where it does not name it. */
export function sideOf(text: string | undefined, { kind, name }: ObjectKey): readonly unknown[] {
  return text === undefined
    ? []
    : sideSchema.parse(JSON.parse(text))[fields[kind]].filter((item) => item.name === name);
}

/** Notes which things of a domain a record speaks of, so that their changes are found without reading the log. */
export async function insertAuditObjects(
  db: Kysely<Schema>,
  record: {
    readonly id: number;
    readonly subject: string;
    readonly before: string | null;
    readonly after: string | null;
  },
): Promise<void> {
  const sides = [record.before, record.after].map((text) => sideSchema.parse(JSON.parse(text ?? '{}')));
  const rows = objectKinds.flatMap((kind) => {
    const names = new Set(sides.flatMap((side) => side[fields[kind]].map(({ name }) => name)));
    return [...names].map((name) => ({ domain: record.subject, kind, name, audit_id: record.id }));
  });
  for (const part of chunks(rows, rowsAStatement)) await db.insertInto('audit_objects').values(part).execute();
}
