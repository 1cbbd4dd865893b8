import { type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import type { AuditRecord } from '../model/records.ts';
import type { AboutQuery } from '../model/store.ts';
import type { Schema } from './database-schema.ts';
import { chunks } from './row-values.ts';

const lists = z.array(z.looseObject({ members: z.array(z.looseObject({ name: z.string() })).default([]) })).default([]);
const sideSchema = z.looseObject({ roles: lists, groups: lists, holder: z.string().optional() });

type NamedRecord = Pick<AuditRecord, 'actor' | 'subject' | 'before' | 'after'>;

/**
 * True if the record is about the name: its actor or subject (the service or an instance of it as well), the holder of its certificate, or a
 * member whose entry in a role or group it changed.
 */
export function isAbout({ actor, subject, before, after }: NamedRecord, name: string): boolean {
  return actor === name || isSubject(subject, name) || [before, after].some((side) => mentions(side, name));
}

function isSubject(subject: string, name: string): boolean {
  if (subject === name) return true;
  const parts = splitPrincipal(name as PrincipalName);
  if (parts === undefined) return false;
  const [, domain, service] = subject.split('/');
  return (
    subject === `${parts.domain}:service.${parts.service}` || (domain === parts.domain && service === parts.service)
  );
}

function mentions(side: string | undefined, name: string): boolean {
  // Fast path: most records do not hold the name at all, and parsing costs far more.
  if (side === undefined || !side.includes(JSON.stringify(name))) return false;
  const parsed = sideSchema.safeParse(JSON.parse(side));
  if (!parsed.success) return false;
  const { roles, groups, holder } = parsed.data;
  return holder === name || [...roles, ...groups].some(({ members }) => members.some((member) => member.name === name));
}

const recordsAStatement = 100;

/** Ids of the records that hold the name anywhere, in their order: only these can be about it. */
export async function recordsHolding(
  db: Kysely<Schema>,
  ids: readonly number[],
  { name }: AboutQuery,
): Promise<readonly number[]> {
  // `_` in a name fits any character: the records are looked at again.
  const quoted = `%${JSON.stringify(name)}%`;
  const parts = splitPrincipal(name as PrincipalName);
  const subjects = parts === undefined ? [name] : [name, `${parts.domain}:service.${parts.service}`];
  const instance = parts === undefined ? name : `%/${parts.domain}/${parts.service}/%`;
  const holding = new Set<number>();
  for (const part of chunks(ids, recordsAStatement)) {
    const rows = await db
      .selectFrom('audit')
      .select('id')
      .where('id', 'in', part)
      .where(({ or, eb }) =>
        or([
          eb('actor', '=', name),
          eb('subject', 'in', subjects),
          eb('subject', 'like', instance),
          sql<boolean>`before like ${quoted}`,
          sql<boolean>`after like ${quoted}`,
        ]),
      )
      .execute();
    for (const { id } of rows) holding.add(id);
  }
  return ids.filter((id) => holding.has(id));
}
