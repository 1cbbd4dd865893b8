import type { Kysely, Selectable } from 'kysely';
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
  if (query.before !== undefined) select = select.where('id', '<', query.before);
  if (query.object !== undefined) select = select.where('id', 'in', recordsOf(db, query));
  return (await select.execute()).map(auditRecord);
}

/** The newest records of a page, by the index of objects. */
function recordsOf(db: Kysely<Schema>, { subject = '', object, before, limit }: AuditQuery) {
  const found = db
    .selectFrom('audit_objects')
    .select('audit_id')
    .where('domain', '=', subject)
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
