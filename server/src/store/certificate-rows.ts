import {
  type KeyId,
  type PathElement,
  type PrincipalName,
  parseDomainName,
  parseKeyId,
  parsePathElement,
  parsePrincipalName,
  parseServiceName,
} from '@signet/policy-engine/names';
import type { Kysely, RawBuilder, Selectable } from 'kysely';
import type {
  AskedBy,
  CertificateKind,
  CertificateRecord,
  CertificateRow,
  Revocation,
  RevocationReason,
} from '../model/certificate-store.ts';
import type { InstanceKey, InstanceRecord } from '../model/instance-store.ts';
import type { CertificatesTable, InstancesTable, Schema } from './database-schema.ts';
import { chunks } from './row-values.ts';

/* Rows of certificates and instances. Times are in seconds on both sides. */

const kinds = new Map<string, CertificateKind>([
  ['instance', 'instance'],
  ['service', 'service'],
  ['role', 'role'],
  ['user', 'user'],
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
      : { serial: row.serial, revokedAt: row.revoked_at, reason: reasonOf(row.revocation_reason) };
  return {
    serial: row.serial,
    issuer: row.issuer,
    kind,
    subject: row.subject,
    holder: parsePrincipalName(row.holder),
    provider: optional<PrincipalName>(row.provider, parsePrincipalName),
    instanceId: optional<PathElement>(row.instance_id, parsePathElement),
    vouchedKey: optional<KeyId>(row.vouched_key, parseKeyId),
    notBefore: row.not_before,
    notAfter: row.not_after,
    askers: askersIn(row.asked_by),
    state: row.state === 'issued' ? 'issued' : 'intended',
    fingerprint: row.fingerprint ?? undefined,
    revoked,
  };
}

/** The columns of a certificate that is about to be signed; the others are empty. */
export function newCertificate(row: CertificateRow, at: number) {
  return {
    serial: row.serial,
    issuer: row.issuer,
    kind: row.kind,
    subject: row.subject,
    provider: row.provider ?? null,
    instance_id: row.instanceId ?? null,
    vouched_key: row.vouchedKey ?? null,
    asking_serial: row.askingSerial ?? null,
    ...askedBy(row.askedBy),
    holder: row.holder,
    intended_at: at,
    not_before: row.notBefore,
    not_after: row.notAfter,
  };
}

/** Names stand in a cell one a line. */
function askedBy(asked: AskedBy | undefined) {
  const nothing = { asked_by: null, asked_with: null, join_token: null };
  if (asked === undefined) return nothing;
  if ('names' in asked) return { ...nothing, asked_by: asked.names.join('\n') };
  return 'certificate' in asked
    ? { ...nothing, asked_with: asked.certificate }
    : { ...nothing, join_token: asked.joinToken };
}

/** The names in a cell of `askedBy`. */
export function askersIn(cell: string | null | undefined): readonly string[] {
  return cell?.split('\n') ?? [];
}

export function toInstance(row: Selectable<InstancesTable>): InstanceRecord {
  return {
    provider: parsePrincipalName(row.provider),
    domain: parseDomainName(row.domain),
    service: parseServiceName(row.service),
    instanceId: parsePathElement(row.instance_id),
    currentSerial: row.current_serial,
    previousSerial: row.previous_serial ?? undefined,
    previousUsed: row.previous_used === 1,
    revoked: row.revoked === 1,
    clientOnly: row.client_only === 1,
    sshAllowed: row.ssh_allowed === 1,
    hostname: row.hostname ?? undefined,
    registeredAt: row.registered_at,
    refreshedAt: row.refreshed_at,
    notAfter: row.not_after,
  };
}

/** The key of an instance. */
export interface InstanceColumns {
  readonly provider: string;
  readonly domain: string;
  readonly service: string;
  readonly instance_id: string;
}

export function instanceColumns(key: InstanceKey): InstanceColumns {
  return { provider: key.provider, domain: key.domain, service: key.service, instance_id: key.instanceId };
}

export interface InstanceFilter<Self> {
  where(column: keyof InstanceColumns, operator: '=', value: string | RawBuilder<string>): Self;
}

/** The query for one row of `instances`. */
export function whereInstance<Query extends InstanceFilter<Query>>(
  query: Query,
  key: Readonly<Record<keyof InstanceColumns, string | RawBuilder<string>>>,
): Query {
  return query
    .where('provider', '=', key.provider)
    .where('domain', '=', key.domain)
    .where('service', '=', key.service)
    .where('instance_id', '=', key.instance_id);
}

/** A certificate that was revoked, and those that were revoked with it. */
interface RevokedRow extends Pick<CertificatesTable, 'kind' | 'subject' | 'holder' | 'not_after'> {
  readonly asked: readonly string[];
}

/** Revokes one certificate and answers what it was for; undefined when there is none, or it was revoked before. */
export async function revokeOne(
  db: Kysely<Schema>,
  serial: string,
  revocation: Revocation,
): Promise<RevokedRow | undefined> {
  const row = await db
    .selectFrom('certificates')
    .select(['kind', 'subject', 'holder', 'not_after'])
    .where('serial', '=', serial)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return row && { ...row, asked: await revokeRows(db, [serial], revocation) };
}

/** The certificates in force that these asked for and that end with them, without those that are among them. */
async function askedFor(db: Kysely<Schema>, serials: readonly string[], at: number): Promise<readonly string[]> {
  const among = new Set(serials);
  const found: string[] = [];
  for (const part of chunks(serials, 500)) {
    const rows = await db
      .selectFrom('certificates')
      .select('serial')
      .where('asking_serial', 'in', part)
      .where('revoked_at', 'is', null)
      .where('not_after', '>=', at)
      .orderBy('serial')
      .execute();
    for (const { serial } of rows) if (!among.has(serial)) found.push(serial);
  }
  return found;
}

/**
 * Revokes certificates, and those in force that they asked for and that end with them; each gets the next place in the order of revocations.
 * Returns the serial numbers of the latter.
 */
export async function revokeRows(
  db: Kysely<Schema>,
  serials: readonly string[],
  revocation: Revocation,
): Promise<readonly string[]> {
  if (serials.length === 0) return [];
  const asked = await askedFor(db, serials, revocation.at);
  const last = await db
    .selectFrom('certificates')
    .select((select) => select.fn.max('revocation_sequence').as('sequence'))
    .executeTakeFirst();
  let sequence = Number(last?.sequence ?? 0);
  for (const serial of [...serials, ...asked]) {
    sequence += 1;
    await db
      .updateTable('certificates')
      .set({
        revoked_at: revocation.at,
        revocation_reason: revocation.reason,
        revoked_by: revocation.by,
        revocation_sequence: sequence,
      })
      .where('serial', '=', serial)
      .execute();
  }
  return asked;
}
