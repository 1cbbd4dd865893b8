import type { DomainName, PrincipalName } from '@signet/policy-engine/names';
import type { Kysely, Selectable } from 'kysely';
import type { RequestQuery, StoredRequest } from '../model/change-requests.ts';
import type { ChangeRequestsTable, Schema } from './database-schema.ts';

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
  { state, domain, author, before, limit }: RequestQuery,
): Promise<readonly StoredRequest[]> {
  let rows = db.selectFrom('change_requests').selectAll().orderBy('id', 'desc').limit(limit);
  if (state !== undefined) rows = rows.where('state', '=', state);
  if (author !== undefined) rows = rows.where('author', '=', author);
  if (domain !== undefined) rows = rows.where('domains', 'like', `% ${domain.replace(/[\\%_]/g, '\\$&')} %`);
  if (before !== undefined) rows = rows.where('id', '<', before);
  return (await rows.execute()).map(requestOf);
}

/** How many open requests an author has, and how many concern a domain. */
export async function countOpen(
  db: Kysely<Schema>,
  author: PrincipalName,
  domain: DomainName,
): Promise<{ readonly ofAuthor: number; readonly ofDomain: number }> {
  const open = await db
    .selectFrom('change_requests')
    .select(['author', 'domains'])
    .where('state', '=', 'open')
    .execute();
  return {
    ofAuthor: open.filter((row) => row.author === author).length,
    ofDomain: open.filter(({ domains }) => domains.includes(` ${domain} `)).length,
  };
}

function rowOf(request: StoredRequest): Selectable<ChangeRequestsTable> {
  const { id, state, author, created, expires, closed, reason, domains, needed, digest, content, approvals } = request;
  return {
    id,
    kind: content.kind,
    state,
    author,
    created_at: created,
    expires_at: expires,
    closed_at: closed ?? null,
    reason: reason ?? null,
    domains: ` ${domains.join(' ')} `,
    needed,
    digest: digest ?? null,
    content: JSON.stringify(content),
    approvals: JSON.stringify(approvals),
  };
}

function requestOf(row: Selectable<ChangeRequestsTable>): StoredRequest {
  const { id, state, author, created_at, expires_at, closed_at, reason, domains, needed, digest } = row;
  // Written by `rowOf` alone.
  return {
    id,
    state: state as StoredRequest['state'],
    author: author as PrincipalName,
    created: created_at,
    expires: expires_at,
    ...(closed_at !== null && { closed: closed_at }),
    ...(reason !== null && { reason }),
    domains: domains.trim().split(' ') as DomainName[],
    needed,
    ...(digest !== null && { digest }),
    content: JSON.parse(row.content) as StoredRequest['content'],
    approvals: JSON.parse(row.approvals) as StoredRequest['approvals'],
  };
}
