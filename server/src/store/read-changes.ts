import { yieldToOthers } from '@signet/policy-engine/internal/slices';
import { type DomainName, parseDomainName } from '@signet/policy-engine/names';
import type { Kysely } from 'kysely';
import type {
  DomainUpdate,
  Knows,
  StoreChanges,
  StoreContents,
  StoreGap,
  StoreState,
} from '../model/snapshot-source.ts';
import { changesAfter, type DomainChanges, headOfChanges, maxNames } from './change-rows.ts';
import type { Schema } from './database-schema.ts';
import { readAttributes, readDomains, readPackedDomains, readRoles } from './read-domains.ts';
import { readEntries } from './read-members.ts';
import { readPolicies } from './read-policies.ts';
import { readServices, servicesOf } from './read-services.ts';
import { chunks } from './row-values.ts';
import { readSigningKeys } from './signing-key-rows.ts';

/** Many domains at once are read faster whole. */
const domainsARead = 200;
const mostUpdates = 50;

export async function readState(db: Kysely<Schema>): Promise<StoreState> {
  const state = db.selectFrom('meta').select(['epoch', 'counter', headOfChanges.as('head')]);
  return await state.where('id', '=', 1).executeTakeFirstOrThrow();
}

/** Result of `changesSince`, read within one transaction. */
export async function readChanges(
  db: Kysely<Schema>,
  known: StoreState,
  knows: Knows = () => false,
): Promise<StoreChanges | StoreGap> {
  const state = await readState(db);
  const touched = await changesAfter(db, known, state);
  if (typeof touched === 'string') return { gap: touched, state };
  const { epoch, counter, head } = known;
  const changes = await readTouched(db, touched, knows);
  return { state, since: { epoch, counter, head }, ...changes, signingKeys: await readSigningKeys(db) };
}

/** Result of `everything`, read within one transaction. */
export async function readContents(db: Kysely<Schema>): Promise<StoreContents> {
  const names = db.selectFrom('domains').select('name').where('deleted', '=', 0).orderBy('name');
  const all = (await names.execute()).map(({ name }) => parseDomainName(name));
  return {
    state: await readState(db),
    domains: inParts(all, (part) => readPackedDomains(db, part)),
    signingKeys: await readSigningKeys(db),
  };
}

async function* inParts<Domain>(
  names: readonly DomainName[],
  read: (part: readonly DomainName[]) => Promise<readonly Domain[]>,
): AsyncIterable<readonly Domain[]> {
  for (const part of chunks(names, domainsARead)) {
    yield await read(part);
    // Other requests are answered while many domains are read.
    await yieldToOthers();
  }
}

async function readTouched(
  db: Kysely<Schema>,
  touched: ReadonlyMap<DomainName, DomainChanges>,
  knows: Knows,
): Promise<Pick<StoreChanges, 'domains' | 'deleted' | 'updates'>> {
  const names = [...touched.keys()].sort();
  const present = await presentOf(db, names);
  const updates: DomainUpdate[] = [];
  const whole: DomainName[] = [];
  for (const name of names.filter((other) => present.has(other))) {
    const changes = knows(name) && present.size <= mostUpdates ? touched.get(name) : undefined;
    const update = changes && (await readUpdate(db, name, changes));
    if (update === undefined) whole.push(name);
    else updates.push(update);
  }
  return {
    domains: (await Array.fromAsync(inParts(whole, (part) => readDomains(db, part)))).flat(),
    deleted: names.filter((name) => !present.has(name)),
    ...(updates.length > 0 && { updates }),
  };
}

/** Names of the given ones whose domains exist. */
async function presentOf(db: Kysely<Schema>, names: readonly DomainName[]): Promise<ReadonlySet<DomainName>> {
  const found = new Set<DomainName>();
  for (const part of chunks(names, domainsARead)) {
    const rows = db.selectFrom('domains').select('name').where('name', 'in', part).where('deleted', '=', 0);
    for (const { name } of await rows.execute()) found.add(parseDomainName(name));
  }
  return found;
}

async function readUpdate(
  db: Kysely<Schema>,
  name: DomainName,
  changes: DomainChanges,
): Promise<DomainUpdate | undefined> {
  if (changes.names === 'all' || changes.names.size > maxNames) return undefined;
  const names = [...changes.names].sort();
  const update = { name, names, entries: await readEntries(db, name, names) };
  if (changes.model === 'nothing') return update;
  const attributes = await readAttributes(db, name);
  if (attributes === undefined) return undefined;
  const model = { ...attributes, roles: (await readRoles(db, [name])).get(name) ?? [] };
  if (changes.model === 'lists') return { ...update, model };
  const policies = (await readPolicies(db, [name])).get(name) ?? [];
  return { ...update, model, grants: { policies, ...servicesOf((await readServices(db, [name])).get(name)) } };
}
