import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import type { Schema } from './schema.ts';

/** Past these it is cheaper to read the domain whole. */
const mostVersions = 100;
const mostNames = 1000;
const mostCharacters = 500_000;

const lists = z.array(z.object({ members: z.array(z.object({ name: z.string() })) })).default([]);
/** One side of an audit record of a domain, as `auditText` writes it: lists of which nothing changed are absent. */
const sideSchema = z.object({
  roles: lists,
  groups: lists,
  policies: z.array(z.unknown()).default([]),
  services: z.array(z.unknown()).default([]),
});

/** What changed between two versions of a domain. */
export interface DomainChanges {
  /** Of the members that came, went or are not what they were. Sorted. */
  readonly names: readonly string[];
  /** Whether all policies and services are as they were. */
  readonly sameRules: boolean;
}

/**
 * What changed between two versions of a domain; undefined when that cannot be told or is too much. The audit log says it: it has one
 * record for each version, written with the change, with everything that came, went or changed. INVARIANT: where a record is missing,
 * or a version was made in another way, nothing is told, for a member that left unnoticed would keep its access.
 */
export async function changesOfDomain(
  db: Kysely<Schema>,
  domain: { readonly name: string; readonly version: number; readonly since: number },
): Promise<DomainChanges | undefined> {
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
  const sides = texts.flatMap(({ before, after }) => [sideOf(before), sideOf(after)]);
  const names = new Set(
    sides.flatMap(({ roles, groups }) =>
      [...roles, ...groups].flatMap(({ members }) => members.map(({ name }) => name)),
    ),
  );
  if (names.size > mostNames) return undefined;
  const sameRules = sides.every(({ policies, services }) => policies.length + services.length === 0);
  return { names: [...names].sort(), sameRules };
}

function sideOf(text: string | null): z.infer<typeof sideSchema> {
  return sideSchema.parse(text === null ? {} : JSON.parse(text));
}
