import { runInSlices } from '@signet/policy-engine/internal/slices';
import { type Kysely, type Selectable, sql } from 'kysely';
import type { AuditAction, AuditRecord } from '../model/records.ts';
import type { AboutQuery, AuditPage, AuditQuery, ObjectKey } from '../model/store.ts';
import { isAbout, recordsHolding } from './audit-about.ts';
import { auditHashInSteps } from './audit-chain.ts';
import { fitting, lengthOfSides, maxPageCharacters } from './audit-lengths.ts';
import { insertAuditObjects } from './audit-objects.ts';
import type { AuditTable, Schema } from './database-schema.ts';
import { chunks, optional, orNull } from './row-values.ts';

/** Actions whose subject is a domain. */
const domainActions: readonly AuditAction[] = ['create', 'change', 'delete'];

/** Position of a record in the log. */
interface AuditPlace {
  readonly counter: number;
  /** The hash of the record before it. */
  readonly head: string;
}

/** Writes the record with the things of a domain that it concerns, and answers its hash. */
export async function insertAudit(
  db: Kysely<Schema>,
  record: AuditRecord,
  { counter, head }: AuditPlace,
  objects: readonly ObjectKey[],
): Promise<string> {
  const row = {
    id: record.id,
    at: record.at,
    actor: record.actor,
    certificate_serial: orNull(record.certificateSerial),
    request_id: orNull(record.requestId),
    reason: orNull(record.reason),
    action: record.action,
    subject: record.subject,
    version: orNull(record.version),
    counter,
    before: orNull(record.before),
    after: orNull(record.after),
  };
  const hash = await runInSlices(auditHashInSteps(head, row));
  await db
    .insertInto('audit')
    .values({ ...row, hash })
    .execute();
  await insertAuditObjects(db, row, objects);
  return hash;
}

export async function readAudit(db: Kysely<Schema>, query: AuditQuery): Promise<AuditRecord[]> {
  return (await selectRecords(db, query).selectAll().execute()).map(auditRecord);
}

/**
 * The same, as many as may be answered at once. Of what no index has, a page looks at a bounded number of records: it may hold none, and be
 * followed by others.
 */
export async function readAuditPage(db: Kysely<Schema>, query: AuditQuery): Promise<AuditPage> {
  const { actor, since, until, about } = query;
  const isFiltered = [actor, since, until, about].some((filter) => filter !== undefined);
  const looked = await selectRecords(db, { ...query, limit: isFiltered ? filteredRows : query.limit + 1 })
    .select(['id', 'at', 'actor', lengthOfSides])
    .execute();
  query.looked?.(looked.length);
  const found = isFiltered ? looked.filter((row) => isWanted(query, row)) : looked;
  const mayFollow = isFiltered && looked.length === filteredRows && !isBehind(query, looked);
  const last = mayFollow ? looked.at(-1)?.id : undefined;
  if (about !== undefined) return await pageAbout(db, { ...query, about }, found, last);
  const fit = Math.min(query.limit, fitting(found.slice(0, query.limit + 1).map(({ length }) => length)));
  const ids = found.slice(0, fit).map(({ id }) => id);
  const next = ids.length < found.length ? ids.at(-1) : last;
  return { records: await readRecords(db, ids, query), ...(next !== undefined && { next }) };
}

/** Characters of records that are searched for a name for one page, or a single record. */
const searchedCharacters = 4_000_000;

/**
 * A page of those of the records found that are about a name. INVARIANT: what its reader does not see of a record neither fills the page nor
 * ends it.
 */
async function pageAbout(
  db: Kysely<Schema>,
  query: AuditQuery & { readonly about: AboutQuery },
  found: readonly { readonly id: number; readonly length: number }[],
  last: number | undefined,
): Promise<AuditPage> {
  const { about, limit } = query;
  const { seen = (record: AuditRecord) => record } = about;
  const lengths = found.map(({ length }) => length);
  const searched = found.slice(0, fitting(lengths, searchedCharacters)).map(({ id }) => id);
  const records: AuditRecord[] = [];
  let characters = 0;
  for (const id of await recordsHolding(db, searched, about)) {
    for (const record of await readRecords(db, [id], query)) {
      const shown = seen(record);
      if (!isAbout(shown, about.name)) continue;
      characters += charactersOf(shown);
      const isFull = records.length >= limit || (records.length > 0 && characters > maxPageCharacters);
      if (isFull) return { records, next: records.at(-1)?.id ?? id };
      records.push(record);
    }
  }
  const next = searched.length < found.length ? searched.at(-1) : last;
  return { records, ...(next !== undefined && { next }) };
}

function charactersOf({ before = '', after = '' }: AuditRecord): number {
  return before.length + after.length;
}

async function readRecords(db: Kysely<Schema>, ids: readonly number[], query: AuditQuery): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  const order = query.after === undefined ? 'desc' : 'asc';
  for (const part of chunks(ids, recordsAStatement)) {
    const rows = await db.selectFrom('audit').selectAll().where('id', 'in', part).orderBy('id', order).execute();
    for (const row of rows) records.push(auditRecord(row));
  }
  return records;
}

/** How many records a page is picked from. */
const filteredRows = 5000;

type LookedAt = Pick<AuditRecord, 'at' | 'actor'>;

function isWanted({ actor, since, until }: AuditQuery, row: LookedAt): boolean {
  if (actor !== undefined && row.actor !== actor) return false;
  return (since === undefined || row.at >= since) && (until === undefined || row.at < until);
}

/**
 * True if the last records in a row are all outside of the requested time, and enough of them to stop: clocks are seldom set back, and not by
 * much.
 */
function isBehind({ after, since, until }: AuditQuery, rows: readonly LookedAt[]): boolean {
  if (after === undefined) return since !== undefined && rows.every(({ at }) => at < since);
  return until !== undefined && rows.every(({ at }) => at >= until);
}

const recordsAStatement = 100;

function selectRecords(db: Kysely<Schema>, query: AuditQuery) {
  let select = db
    .selectFrom('audit')
    .orderBy('id', query.after === undefined ? 'desc' : 'asc')
    .limit(query.limit);
  if (query.after !== undefined) select = select.where('id', '>', query.after);
  if (query.subject !== undefined) select = select.where('subject', '=', query.subject);
  if (query.domain !== undefined) {
    // A certificate, a key or the store itself may have the name of a domain.
    select = select.where('subject', '=', query.domain).where('action', 'in', [...domainActions, 'reuse-name']);
    select = select.where('id', '>=', beginningOf(db, query.domain));
  }
  if (query.before !== undefined) select = select.where('id', '<', query.before);
  if (query.object !== undefined) select = select.where('id', 'in', recordsOf(db, query));
  return select;
}

/** The record with which a domain begins: the last one of its making. */
function beginningOf(db: Kysely<Schema>, domain: string) {
  return db
    .selectFrom('audit')
    .select((select) => select.fn.coalesce(select.fn.max('id'), sql<number>`0`).as('id'))
    .where('subject', '=', domain)
    .where('action', '=', 'create');
}

/** The newest records of a page, by the index of objects. */
function recordsOf(db: Kysely<Schema>, { domain, object, before, limit }: AuditQuery) {
  const found = db
    .selectFrom('audit_objects')
    .select('audit_id')
    .where('domain', '=', domain ?? '')
    .where('kind', '=', object?.kind ?? '')
    .where('name', '=', object?.name ?? '')
    .orderBy('audit_id', 'desc')
    .limit(limit);
  return before === undefined ? found : found.where('audit_id', '<', before);
}

function auditRecord(row: Selectable<AuditTable>): AuditRecord {
  return {
    id: row.id,
    at: row.at,
    actor: row.actor,
    ...optional('certificateSerial', row.certificate_serial),
    ...optional('requestId', row.request_id),
    ...optional('reason', row.reason),
    // Written by this store from the same union.
    action: row.action as AuditAction,
    subject: row.subject,
    ...optional('version', row.version),
    ...optional('before', row.before),
    ...optional('after', row.after),
  };
}
