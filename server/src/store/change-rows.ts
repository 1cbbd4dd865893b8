import type { DomainName } from '@signet/policy-engine/names';
import { type Kysely, sql } from 'kysely';
import { changesFields, changesList, type DomainChange, isEmptyDiff, written } from '../model/domain-change.ts';
import { type GapKind, isSameState, type StoreState } from '../model/snapshot-source.ts';
import { passesThrough } from './audit-chain.ts';
import type { Schema } from './database-schema.ts';
import { chunks } from './row-values.ts';

/*
 * Feed of the things that each change of the store touched, written in the transaction of the change. Snapshots follow it. Rows name the things
 * to read again, never their content, so that repetition and order do not matter. Every change of the counter has one row `head` with the head
 * of the audit log that it left behind; it proves that the feed has no gap.
 */

/** Thing that a change touched. A kind or key that a reader does not know stands for everything in its domain. */
export type Touched =
  /**
   * Attributes, roles, groups, policies or services of the domain, or whether there is one; with the key `lists` no policy and no
   * service.
   */
  | { readonly kind: 'domain'; readonly domain: DomainName; readonly key: '' | 'lists' }
  /** Entries of this name in roles and groups of the domain. */
  | { readonly kind: 'member'; readonly domain: DomainName; readonly key: string }
  /** Entries of more names than are worth a row each. */
  | { readonly kind: 'members'; readonly domain: DomainName; readonly key: '' }
  /** Signing keys. */
  | { readonly kind: 'keys'; readonly domain: ''; readonly key: '' };

export const signingKeys: Touched = { kind: 'keys', domain: '', key: '' };

/** Maximum of names, above which reading all members of the domain is cheaper. */
export const maxNames = 1000;
/** Maximum of rows that are followed, and so kept: above it reading the whole store is cheaper. */
export const maxRows = 20_000;
/** Pruning interval: rows are removed after this number of changes, and after each change that writes more than this number of rows. */
const pruningInterval = 256;
const rowsAStatement = 500;

/** Everything of a domain: it was deleted, and another one of its name may exist before the next reader looks. */
export function wholeDomain(domain: DomainName): Touched[] {
  return [
    { kind: 'domain', domain, key: '' },
    { kind: 'members', domain, key: '' },
  ];
}

export function touchedBy(change: DomainChange): Touched[] {
  const { name: domain } = change;
  const names = changedNames(change);
  const members: Touched[] =
    names === 'many'
      ? [{ kind: 'members', domain, key: '' }]
      : [...names].map((key) => ({ kind: 'member', domain, key }));
  const key = changedModel(change);
  return key === undefined ? members : [{ kind: 'domain', domain, key }, ...members];
}

function changedModel(change: DomainChange): '' | 'lists' | undefined {
  const { roles, groups, policies, services } = change;
  if (!isEmptyDiff(policies) || !isEmptyDiff(services)) return '';
  return [...roles, ...groups].some(changesList) || changesFields(change) ? 'lists' : undefined;
}

function changedNames({ roles, groups }: DomainChange): ReadonlySet<string> | 'many' {
  const names = new Set<string>();
  for (const { members } of [...roles, ...groups]) {
    for (const { name } of [...members.removed, ...written(members)]) {
      names.add(name);
      if (names.size > maxNames) return 'many';
    }
  }
  return names;
}

/**
 * Writes the things that the change to this state touched, and at intervals removes the rows that no reader will follow. Of a change that none
 * will follow either, only the head is kept: readers behind it read the whole store.
 */
export async function insertChanges(
  db: Kysely<Schema>,
  { counter, head }: Pick<StoreState, 'counter' | 'head'>,
  touched: readonly Touched[],
): Promise<void> {
  const followed = touched.length < maxRows ? touched : [];
  if (followed.length < touched.length) await removeBefore(db, counter);
  const rows = [{ domain: '', kind: 'head', key: head }, ...followed].map((row) => ({ seq: counter, ...row }));
  for (const part of chunks(rows, rowsAStatement)) {
    await db
      .insertInto('changes')
      .values(part)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  if (counter % pruningInterval === 0 || rows.length > pruningInterval) await prune(db);
}

async function prune(db: Kysely<Schema>): Promise<void> {
  const newest = db.selectFrom('changes').select('seq').orderBy('seq', 'desc').offset(maxRows).limit(1);
  const last = await newest.executeTakeFirst();
  if (last !== undefined) await removeBefore(db, last.seq);
}

/** Removes the rows before a change from which all readers go on: its head stays. In parts, between which other work has its turn. */
async function removeBefore(db: Kysely<Schema>, seq: number): Promise<void> {
  for (;;) {
    const oldest = sql`select seq, domain, kind, key from changes
      where seq <= ${seq} and (seq < ${seq} or kind <> 'head') limit ${rowsAStatement}`;
    const removed = await sql`delete from changes where (seq, domain, kind, key) in (${oldest})`.execute(db);
    if ((removed.numAffectedRows ?? 0n) < rowsAStatement) return;
  }
}

/** Head of the state of the store in `meta`: see `StoreState.head`. Empty before the first change. */
export const headOfChanges = sql<string>`coalesce(
  (select key from changes where seq = meta.counter and domain = '' and kind = 'head'), '')`;

/** Touched things in one domain. */
export interface DomainChanges {
  /** Parts beside members: `lists` is everything but policies and services. */
  readonly model: 'all' | 'lists' | 'nothing';
  /** Names whose entries were touched. */
  readonly names: ReadonlySet<string> | 'all';
}

/**
 * Things touched after `known`, by domain, or why they cannot be told. INVARIANT: they are told only where the feed goes on without a gap from
 * the very state that the reader has. After a restore, in another history of the store, behind pruned rows or past a writer that wrote no rows,
 * a member that left would keep its access.
 */
export async function changesAfter(
  db: Kysely<Schema>,
  known: StoreState,
  state: StoreState,
): Promise<ReadonlyMap<DomainName, DomainChanges> | GapKind> {
  const gap = await gapAfter(db, known, state);
  if (gap !== undefined) return gap;
  const missed = state.counter - known.counter;
  const rows = await db
    .selectFrom('changes')
    .selectAll()
    .where('seq', '>', known.counter)
    .orderBy('seq')
    .limit(maxRows + 1)
    .execute();
  const heads = rows.filter(({ kind }) => kind === 'head');
  const isWhole = heads.length === missed && heads.every(({ seq }, index) => seq === known.counter + 1 + index);
  if (!isWhole || rows.length > maxRows) return 'distance';
  const ofDomains = rows.filter(({ domain }) => domain !== '');
  const touched = Map.groupBy(ofDomains, ({ domain }) => domain as DomainName);
  return new Map([...touched].map(([domain, changes]) => [domain, changesOf(changes)]));
}

/** Reason why the feed does not go on from that state; undefined where it does. */
async function gapAfter(db: Kysely<Schema>, known: StoreState, state: StoreState): Promise<GapKind | undefined> {
  if (state.epoch > known.epoch) return 'restart';
  if (state.epoch < known.epoch || state.counter < known.counter) return 'divergence';
  if (await hasHead(db, known)) return undefined;
  return (await passesThrough(db, known)) ? 'distance' : 'divergence';
}

/** True if a domain is as it was in the state `known`; false where that cannot be told. */
export async function isUnchanged(
  db: Kysely<Schema>,
  domain: DomainName,
  known: StoreState,
  state: StoreState,
): Promise<boolean> {
  if (isSameState(known, state)) return true;
  if (known.epoch !== state.epoch || known.counter > state.counter || !(await hasHead(db, known))) return false;
  const later = db.selectFrom('changes').select('seq').where('seq', '>', known.counter).where('domain', '=', domain);
  return (await later.limit(1).executeTakeFirst()) === undefined;
}

async function hasHead(db: Kysely<Schema>, { counter, head }: StoreState): Promise<boolean> {
  const row = db.selectFrom('changes').select('key').where('seq', '=', counter).where('domain', '=', '');
  return (await row.where('kind', '=', 'head').where('key', '=', head).executeTakeFirst()) !== undefined;
}

function changesOf(rows: readonly { readonly kind: string; readonly key: string }[]): DomainChanges {
  const names = new Set<string>();
  let model: DomainChanges['model'] = 'nothing';
  let all = false;
  for (const { kind, key } of rows) {
    if (kind === 'member') names.add(key);
    else if (kind !== 'domain') all = true;
    if (kind === 'member' || kind === 'members') continue;
    if (kind !== 'domain' || key !== 'lists') model = 'all';
    else if (model === 'nothing') model = 'lists';
  }
  return { model, names: all ? 'all' : names };
}
