import { type Kysely, type Selectable, sql } from 'kysely';
import { auditHash } from './audit-chain.ts';
import { insertAuditObjects } from './audit-objects.ts';
import type { AuditAction, AuditRecord } from './records.ts';
import { optional, orNull } from './row-values.ts';
import type { AuditTable, Schema } from './schema.ts';
import type { AuditQuery } from './store.ts';

/** Those whose subject is a domain. */
const domainActions: readonly AuditAction[] = ['create', 'change', 'delete'];

/** Writes the record behind the one whose hash is `head`, and answers its own hash. */
export async function insertAudit(
  db: Kysely<Schema>,
  record: AuditRecord,
  counter: number,
  head: string,
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
  const hash = auditHash(head, row);
  await db
    .insertInto('audit')
    .values({ ...row, hash })
    .execute();
  if (domainActions.includes(record.action)) await insertAuditObjects(db, row);
  return hash;
}

export async function readAudit(db: Kysely<Schema>, query: AuditQuery): Promise<AuditRecord[]> {
  let select = db.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(query.limit);
  if (query.subject !== undefined) select = select.where('subject', '=', query.subject);
  if (query.domain !== undefined) {
    // A certificate, a key or the store itself may have the name of a domain.
    select = select.where('subject', '=', query.domain).where('action', 'in', [...domainActions, 'reuse-name']);
    select = select.where('id', '>=', beginningOf(db, query.domain));
  }
  if (query.before !== undefined) select = select.where('id', '<', query.before);
  if (query.object !== undefined) select = select.where('id', 'in', recordsOf(db, query));
  return (await select.execute()).map(auditRecord);
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
