import {
  type PathElement,
  type PrincipalName,
  parseDomainName,
  parsePathElement,
  parsePrincipalName,
  parseServiceName,
} from '@signet/policy-engine/names';
import type { Kysely, Selectable } from 'kysely';
import type { CertificateRecord, CertificateRow, Revocation } from '../certificates/certificate-store.ts';
import type { RevocationReason } from '../certificates/crl.ts';
import type { CertificateKind } from '../certificates/profile.ts';
import type { InstanceKey, InstanceRecord } from '../instances/instance-store.ts';
import type { CertificatesTable, InstancesTable, Schema } from './schema.ts';

/* Rows of certificates and instances. The interfaces count seconds, the tables milliseconds. */

export const toMs = (seconds: number): number => seconds * 1000;
export const toSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

const kinds = new Map<string, CertificateKind>([
  ['instance', 'instance'],
  ['service', 'service'],
  ['role', 'role'],
]);

const reasons = new Map<string, RevocationReason>(
  (['unspecified', 'key-compromise', 'affiliation-changed', 'superseded', 'cessation-of-operation'] as const).map(
    (reason) => [reason, reason],
  ),
);

export function reasonOf(text: string | null): RevocationReason {
  return reasons.get(text ?? '') ?? 'unspecified';
}

function optional<Name>(value: string | null, parse: (value: unknown) => Name): Name | undefined {
  return value === null ? undefined : parse(value);
}

/** A row of an X.509 certificate; undefined for one of another kind. */
export function toCertificate(row: Selectable<CertificatesTable>): CertificateRecord | undefined {
  const kind = kinds.get(row.kind);
  if (kind === undefined) return undefined;
  const revoked =
    row.revoked_at === null
      ? undefined
      : { serial: row.serial, revokedAt: toSeconds(row.revoked_at), reason: reasonOf(row.revocation_reason) };
  return {
    serial: row.serial,
    issuer: row.issuer ?? '',
    kind,
    subject: row.subject,
    holder: parsePrincipalName(row.requested_by),
    provider: optional<PrincipalName>(row.provider, parsePrincipalName),
    instanceId: optional<PathElement>(row.instance_id, parsePathElement),
    notBefore: toSeconds(row.not_before),
    notAfter: toSeconds(row.not_after),
    state: row.state === 'issued' ? 'issued' : 'intended',
    fingerprint: row.fingerprint ?? undefined,
    revoked,
  };
}

function domainOf(row: CertificateRow): string {
  const colon = row.subject.indexOf(':');
  return row.subject.slice(0, colon < 0 ? row.subject.lastIndexOf('.') : colon);
}

export function fromCertificate(row: CertificateRow, at: number): CertificatesTable {
  return {
    serial: row.serial,
    issuer: row.issuer,
    kind: row.kind,
    state: 'intent',
    domain: domainOf(row),
    subject: row.subject,
    provider: row.provider ?? null,
    instance_id: row.instanceId ?? null,
    fingerprint: null,
    requested_by: row.holder,
    issued_at: toMs(at),
    not_before: toMs(row.notBefore),
    not_after: toMs(row.notAfter),
    revoked_at: null,
    revocation_reason: null,
  };
}

export function toInstance(row: Selectable<InstancesTable>): InstanceRecord {
  return {
    provider: parsePrincipalName(row.provider),
    domain: parseDomainName(row.domain),
    service: parseServiceName(row.service),
    instanceId: parsePathElement(row.instance_id),
    currentSerial: row.current_serial,
    previousSerial: row.previous_serial ?? undefined,
    revoked: row.revoked_at !== null,
    clientOnly: row.client_only === 1,
    hostname: row.hostname ?? undefined,
    registeredAt: toSeconds(row.registered_at),
    refreshedAt: toSeconds(row.refreshed_at),
    notAfter: toSeconds(row.expires_at),
  };
}

export function instanceColumns(key: InstanceKey) {
  return { provider: key.provider, domain: key.domain, service: key.service, instance_id: key.instanceId };
}

/** Marks an intended certificate as issued. */
export async function confirmCertificate(db: Kysely<Schema>, serial: string, fingerprint: string): Promise<void> {
  await db.updateTable('certificates').set({ state: 'issued', fingerprint }).where('serial', '=', serial).execute();
}

interface RevocableRow {
  readonly serial: string;
  readonly issuer: string | null;
  readonly not_after: number;
}

/** Takes certificates back, with one entry each in the order of revocations. */
export async function revokeRows(
  db: Kysely<Schema>,
  rows: readonly RevocableRow[],
  revocation: Revocation,
): Promise<void> {
  if (rows.length === 0) return;
  const last = await db
    .selectFrom('revocations')
    .select((select) => select.fn.max('sequence').as('sequence'))
    .executeTakeFirst();
  let sequence = Number(last?.sequence ?? 0);
  for (const row of rows) {
    sequence += 1;
    const { reason, at, by } = revocation;
    await db
      .updateTable('certificates')
      .set({ revoked_at: toMs(at), revocation_reason: reason })
      .where('serial', '=', row.serial)
      .execute();
    await db
      .insertInto('revocations')
      .values({
        sequence,
        serial: row.serial,
        issuer: row.issuer ?? '',
        revoked_at: toMs(at),
        reason,
        by,
        not_after: row.not_after,
      })
      .execute();
  }
}
