import type { DomainName } from '@signet/policy-engine/names';
import { type Kysely, type Selectable, type SqlBool, sql } from 'kysely';
import type { OpenQuery, OpenRequests, RequestQuery, StoredRequest } from '../model/change-requests.ts';
import type { ChangeRequestsTable, Schema } from './database-schema.ts';
import { optional, orNull } from './row-values.ts';

/* Rows of change requests. Domains stand between blanks, so that one of them is found by its text. */

export async function insertRequest(db: Kysely<Schema>, request: StoredRequest): Promise<void> {
  await db.insertInto('change_requests').values(rowOf(request)).execute();
}

/** Saves what of a request may change: its state and its approvals. */
export async function updateRequest(db: Kysely<Schema>, request: StoredRequest): Promise<void> {
  const { state, closed_at, approvals } = rowOf(request);
  await db.updateTable('change_requests').set({ state, closed_at, approvals }).where('id', '=', request.id).execute();
}

export async function readRequest(db: Kysely<Schema>, id: number): Promise<StoredRequest | undefined> {
  const row = await db.selectFrom('change_requests').selectAll().where('id', '=', id).executeTakeFirst();
  return row && requestOf(row);
}

/** Requests, newest first. */
export async function readRequests(
  db: Kysely<Schema>,
  { state, domain, author, before, limit, now }: RequestQuery,
): Promise<readonly StoredRequest[]> {
  let rows = db.selectFrom('change_requests').selectAll().orderBy('id', 'desc').limit(limit);
  if (state !== undefined) rows = rows.where('state', '=', state === 'expired' ? 'open' : state);
  if (state === 'open') rows = rows.where('expires_at', '>', now);
  if (state === 'expired') rows = rows.where('expires_at', '<=', now);
  if (author !== undefined) rows = rows.where('author', '=', author);
  if (domain !== undefined) {
    const pattern = `% ${domain.replaceAll('_', '\\_')} %`;
    rows = rows.where(sql<SqlBool>`domains like ${pattern} escape '\\'`);
  }
  if (before !== undefined) rows = rows.where('id', '<', before);
  return (await rows.execute()).map(requestOf);
}

/** How many open requests an author has, and how many concern a domain. */
export async function countOpen(db: Kysely<Schema>, { author, domain, now }: OpenQuery): Promise<OpenRequests> {
  const open = await db
    .selectFrom('change_requests')
    .select(['author', 'domains'])
    .where('state', '=', 'open')
    .where('expires_at', '>', now)
    .execute();
  return {
    ofAuthor: open.filter((row) => row.author === author).length,
    ofDomain: open.filter(({ domains }) => domains.includes(` ${domain} `)).length,
  };
}

/** The next number of a request: the newest one stays, so that no number is used again. */
export async function nextRequestId(db: Kysely<Schema>): Promise<number> {
  const last = await db.selectFrom('change_requests').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst();
  return (last?.id ?? 0) + 1;
}

/** Forgets at most `limit` requests that ended before a time, but for the newest of all; those that wait for a review stay. Answers how many. */
export async function pruneRequests(db: Kysely<Schema>, before: number, limit: number): Promise<number> {
  const newest = (await nextRequestId(db)) - 1;
  const ended = db
    .selectFrom('change_requests')
    .select('id')
    .where('id', '<', newest)
    .where((where) =>
      where.or([
        where('closed_at', '<', before),
        where.and([where('state', '=', 'open'), where('expires_at', '<', before)]),
      ]),
    )
    .orderBy('id')
    .limit(limit);
  const ids = (await ended.execute()).map(({ id }) => id);
  if (ids.length > 0) await db.deleteFrom('change_requests').where('id', 'in', ids).execute();
  return ids.length;
}

function rowOf(request: StoredRequest): Selectable<ChangeRequestsTable> {
  const { id, state, author, created, expires, domains, needed, content, approvals } = request;
  return {
    id,
    kind: request.kind,
    state,
    author,
    created_at: created,
    expires_at: expires,
    closed_at: orNull(request.closed),
    reason: orNull(request.reason),
    domains: ` ${domains.join(' ')} `,
    needed,
    certificate: orNull(request.certificate),
    effect: orNull(request.effect),
    outcome: orNull(request.outcome),
    content: JSON.stringify(content),
    approvals: JSON.stringify(approvals),
  };
}

function requestOf(row: Selectable<ChangeRequestsTable>): StoredRequest {
  const { id, state, author, created_at: created, expires_at: expires, domains, needed } = row;
  // Written by `rowOf` alone.
  return {
    id,
    state: state as StoredRequest['state'],
    author,
    created,
    expires,
    ...optional('closed', row.closed_at),
    ...optional('reason', row.reason),
    ...optional('certificate', row.certificate),
    ...optional('effect', row.effect),
    ...optional('outcome', row.outcome),
    domains: domains.trim().split(' ') as DomainName[],
    needed,
    kind: row.kind as StoredRequest['kind'],
    // A list of many looks into few of them.
    get content() {
      return JSON.parse(row.content) as StoredRequest['content'];
    },
    approvals: JSON.parse(row.approvals) as StoredRequest['approvals'],
  };
}
