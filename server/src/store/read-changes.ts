import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { parseDomainName } from '@signet/policy-engine/names';
import type { Kysely } from 'kysely';
import { changesOfDomain } from './domain-changes.ts';
import { readDomains, readExcerpt } from './read-domains.ts';
import type { DomainRecord } from './records.ts';
import { chunks } from './row-values.ts';
import type { Schema } from './schema.ts';
import { readSigningKeys } from './signing-key-rows.ts';
import type { DomainPatch, StoreChanges, StoreState, VersionOf } from './store.ts';

/** Many domains at once are read faster whole. */
const domainsARead = 200;
const mostPatches = 50;

export async function readState(db: Kysely<Schema>): Promise<StoreState> {
  return await db.selectFrom('meta').select(['epoch', 'counter']).where('id', '=', 1).executeTakeFirstOrThrow();
}

/** What `changesSince` answers, read within one transaction. */
export async function readChanges(
  db: Kysely<Schema>,
  counter: number,
  versionOf: VersionOf = () => undefined,
): Promise<StoreChanges> {
  const state = await readState(db);
  const rows = await db
    .selectFrom('domains')
    .select(['name', 'deleted', 'version'])
    .where('changed_at', '>', counter)
    .execute();
  // Sorted here: asked for an order, a planner may walk through all domains to find a few that have it already.
  const changed = rows.sort((a, b) => (a.name < b.name ? -1 : 1));
  const present = changed.filter((row) => row.deleted === 0);
  const patches: DomainPatch[] = [];
  const whole: string[] = [];
  for (const row of present) {
    const known = present.length > mostPatches ? undefined : versionOf(parseDomainName(row.name));
    const patch = known === undefined ? undefined : await readPatch(db, row, known);
    if (patch === undefined) whole.push(row.name);
    else patches.push(patch);
  }
  const domains: DomainRecord[] = [];
  for (const names of chunks(whole, domainsARead)) {
    for (const domain of await readDomains(db, names)) domains.push(domain);
    // Requests go on being answered while many domains are read.
    await yieldToOthers();
  }
  const deleted = changed.filter((row) => row.deleted === 1).map((row) => parseDomainName(row.name));
  return {
    state,
    domains,
    deleted,
    ...(patches.length > 0 && { patches }),
    signingKeys: await readSigningKeys(db),
  };
}

async function readPatch(
  db: Kysely<Schema>,
  { name, version }: { readonly name: string; readonly version: number },
  since: number,
): Promise<DomainPatch | undefined> {
  const changes = await changesOfDomain(db, { name, version, since });
  if (changes === undefined) return undefined;
  const { names, sameRules } = changes;
  const excerpt = await readExcerpt(db, name, { roles: [], groups: [], names, withoutRules: sameRules });
  return excerpt && { since, names, sameRules, excerpt: excerpt.content };
}
