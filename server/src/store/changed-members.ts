import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import type { Schema } from './schema.ts';

/** Past these it is cheaper to read the domain whole. */
const mostVersions = 100;
const mostNames = 1000;
const mostCharacters = 500_000;

const lists = z.array(z.object({ members: z.array(z.object({ name: z.string() })) })).default([]);
/** One side of an audit record of a domain, as far as it speaks of members: `auditText` writes it. */
const sideSchema = z.object({ roles: lists, groups: lists });

/**
 * The names of the members that changed between two versions of a domain, sorted; undefined when that cannot be told or is too much.
 * The audit log says it: it has one record for each version, written with the change, with each member that came, went or changed.
 * INVARIANT: where a record is missing, or a version was made in another way, nothing is told, for a member that left unnoticed would
 * keep its access.
 */
export async function membersChangedSince(
  db: Kysely<Schema>,
  domain: { readonly name: string; readonly version: number; readonly since: number },
): Promise<readonly string[] | undefined> {
  const versions = domain.version - domain.since;
  if (versions < 1 || versions > mostVersions) return undefined;
  const newest = db.selectFrom('audit').where('subject', '=', domain.name).orderBy('id', 'desc').limit(versions);
  const length = sql<number>`length(coalesce(before, '')) + length(coalesce(after, ''))`.as('length');
  const records = await newest.select(['action', 'version', length]).execute();
  const isWhole = records.every(
    ({ action, version }, index) => action === 'change' && version === domain.version - index,
  );
  const characters = records.reduce((sum, record) => sum + record.length, 0);
  if (!isWhole || records.length < versions || characters > mostCharacters) return undefined;
  const texts = await newest.select(['before', 'after']).execute();
  const names = new Set(texts.flatMap(({ before, after }) => [...namesIn(before), ...namesIn(after)]));
  return names.size > mostNames ? undefined : [...names].sort();
}

function namesIn(text: string | null): string[] {
  if (text === null) return [];
  const { roles, groups } = sideSchema.parse(JSON.parse(text));
  return [...roles, ...groups].flatMap(({ members }) => members.map(({ name }) => name));
}
