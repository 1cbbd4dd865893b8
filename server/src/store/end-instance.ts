import type { Kysely } from 'kysely';
import type { Revocation } from '../model/certificate-store.ts';
import type { InstanceKey, InstanceRecord } from '../model/instance-store.ts';
import type { AuditRecord } from '../model/records.ts';
import { instanceColumns, revokeRows, toInstance, whereInstance } from './certificate-rows.ts';
import type { Schema } from './database-schema.ts';

/** Audit record of the end of an instance, and the number of certificates that were revoked with it. */
export interface InstanceEnd extends Pick<AuditRecord, 'action' | 'subject' | 'before' | 'after'> {
  readonly certificates: number;
}

/**
 * Ends the lineage of an instance and revokes every certificate of it that has not expired; the row stays. Undefined, and nothing is
 * changed, when there is no such instance or its lineage has ended before.
 */
export async function revokeInstance(
  db: Kysely<Schema>,
  key: InstanceKey,
  revocation: Revocation,
): Promise<InstanceEnd | undefined> {
  const record = await findInstance(db, key);
  if (record === undefined || record.revoked) return undefined;
  await whereInstance(db.updateTable('instances').set({ revoked: 1 }), instanceColumns(key)).execute();
  const certificates = await revokeCertificates(db, key, revocation);
  const joinTokens = await endJoinTokens(db, key, revocation.at);
  return endOf('revoke-instance', key, record, {
    revoked: true,
    reason: revocation.reason,
    certificates,
    ...(joinTokens > 0 && { joinTokens }),
  });
}

/** The same, and removes the row. Undefined when there was no row, no certificate to revoke and no join token to end. */
export async function removeInstance(
  db: Kysely<Schema>,
  key: InstanceKey,
  revocation: Revocation,
): Promise<InstanceEnd | undefined> {
  const record = await findInstance(db, key);
  await whereInstance(db.deleteFrom('instances'), instanceColumns(key)).execute();
  const certificates = await revokeCertificates(db, key, revocation);
  const joinTokens = await endJoinTokens(db, key, revocation.at);
  if (record === undefined && certificates.length + joinTokens === 0) return undefined;
  return endOf('delete-instance', key, record, {
    reason: revocation.reason,
    certificates,
    ...(joinTokens > 0 && { joinTokens }),
  });
}

/**
 * Ends every join token of the instance, so that a registration that is under way cannot spend it. Answers how many of them could
 * have been spent yet.
 */
async function endJoinTokens(db: Kysely<Schema>, key: InstanceKey, at: number): Promise<number> {
  const columns = instanceColumns(key);
  const unspent = whereInstance(db.selectFrom('join_tokens').select('digest'), columns)
    .where('spent_at', 'is', null)
    .where('ended_at', 'is', null)
    .where('expires', '>', at);
  const { length } = await unspent.execute();
  await whereInstance(db.updateTable('join_tokens').set({ ended_at: at }), columns)
    .where('ended_at', 'is', null)
    .execute();
  return length;
}

function endOf(
  action: InstanceEnd['action'],
  key: InstanceKey,
  record: InstanceRecord | undefined,
  after: Readonly<Record<string, unknown>> & { readonly certificates: readonly string[] },
): InstanceEnd {
  const subject = `${key.provider}/${key.domain}/${key.service}/${key.instanceId}`;
  const { length: certificates } = after.certificates;
  return { action, subject, certificates, after: JSON.stringify(after), ...(record && { before: stateOf(record) }) };
}

function stateOf({
  currentSerial,
  previousSerial,
  revoked,
  registeredAt,
  refreshedAt,
  notAfter,
}: InstanceRecord): string {
  return JSON.stringify({ currentSerial, previousSerial, revoked, registeredAt, refreshedAt, notAfter });
}

async function findInstance(db: Kysely<Schema>, key: InstanceKey): Promise<InstanceRecord | undefined> {
  const row = await whereInstance(db.selectFrom('instances').selectAll(), instanceColumns(key)).executeTakeFirst();
  return row && toInstance(row);
}

/**
 * Revokes every certificate of the instance that has not expired, also those that were never received, and the logins that they asked for.
 * Returns their serial numbers.
 */
async function revokeCertificates(
  db: Kysely<Schema>,
  key: InstanceKey,
  revocation: Revocation,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('certificates')
    .select('serial')
    .where('provider', '=', key.provider)
    .where('instance_id', '=', key.instanceId)
    .where('holder', '=', `${key.domain}.${key.service}`)
    .where('kind', 'in', ['instance', 'ssh-host'])
    .where('revoked_at', 'is', null)
    .where('not_after', '>=', revocation.at)
    .orderBy('serial')
    .execute();
  const serials = rows.map(({ serial }) => serial);
  return [...serials, ...(await revokeRows(db, serials, revocation))];
}
