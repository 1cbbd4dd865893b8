import { type Kysely, type Selectable, sql } from 'kysely';
import type { Revocation, RevocationReason } from '../model/certificate-store.ts';
import type { DomainChange } from '../model/domain-change.ts';
import type { AuditRecord } from '../model/records.ts';
import { revokeRows } from './certificate-rows.ts';
import type { CertificatesTable, Schema } from './database-schema.ts';
import { noteEnd, takeEndedName } from './name-rows.ts';

/* Deletion of names with everything issued to them: otherwise the next owner of a name would be taken for the former one. */

export interface NamesContext {
  readonly db: Kysely<Schema>;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Principal that deletes. */
  readonly actor: string;
  audit(record: Pick<AuditRecord, 'action' | 'subject' | 'before' | 'after'>): Promise<void>;
  /** Called with the number of revoked certificates. */
  revoked(reason: RevocationReason, count: number): void;
}

/** Ends the services and roles that a change took away, and notes which of the new services have a name that was used before. */
export async function followNames(context: NamesContext, change: DomainChange): Promise<void> {
  const { name: domain, roles, services } = change;
  for (const { before, after } of roles) {
    if (before !== undefined && after === undefined) await endRole(context, `${domain}:role.${before.name}`);
  }
  for (const { name } of services.removed) await endService(context, domain, name);
  for (const { name } of services.added) {
    if (!(await reuse(context, `${domain}.${name}`, serviceSubject(domain, name)))) continue;
    await context.db
      .updateTable('services')
      .set({ credentials_from: context.now })
      .where('domain', '=', domain)
      .where('name', '=', name)
      .execute();
  }
}

/** Notes that a new domain has the name of one that was deleted. */
export async function beginDomain(context: NamesContext, domain: string): Promise<void> {
  if (!(await reuse(context, domain, domain))) return;
  const from = { credentials_from: context.now };
  await context.db.updateTable('domains').set(from).where('name', '=', domain).execute();
}

/** Notes the end of a domain, of which everything was removed. */
export function endDomain({ db, now, actor }: NamesContext, domain: string): Promise<void> {
  return noteEnd(db, domain, now, actor);
}

/** The subject of an audit record; the principal alone could be the name of a domain. */
function serviceSubject(domain: string, service: string): string {
  return `${domain}:service.${service}`;
}

async function reuse({ db, audit }: NamesContext, name: string, subject: string): Promise<boolean> {
  const endedAt = await takeEndedName(db, name);
  if (endedAt === undefined) return false;
  await audit({ action: 'reuse-name', subject, before: JSON.stringify({ endedAt }) });
  return true;
}

async function endService(context: NamesContext, domain: string, service: string): Promise<void> {
  const { db, now, actor } = context;
  const principal = `${domain}.${service}`;
  // Certificates issued to it, whoever asked for them; the second query finds those that an operator asked for.
  const certificates = await revokeAll(context, [
    sql<boolean>`holder = ${principal}`,
    sql<boolean>`subject = ${principal} and kind in ('service', 'role')`,
    // The names of instances carry that of their provider, and it decides who refreshes.
    sql<boolean>`provider = ${principal} and instance_id is not null`,
  ]);
  const ofService = { domain, service };
  const instances = await db
    .deleteFrom('instances')
    .where((where) => where.or([where.and(ofService), where('provider', '=', principal)]))
    .executeTakeFirstOrThrow();
  const tokens = await db
    .deleteFrom('join_tokens')
    .where((where) =>
      where.or([where.and(ofService), where('provider', '=', principal), where('created_by', '=', principal)]),
    )
    .executeTakeFirstOrThrow();
  await noteEnd(db, principal, now, actor);
  const after = {
    certificates,
    instances: Number(instances.numDeletedRows),
    joinTokens: Number(tokens.numDeletedRows),
  };
  await context.audit({
    action: 'end-service',
    subject: serviceSubject(domain, service),
    after: JSON.stringify(after),
  });
}

async function endRole(context: NamesContext, role: string): Promise<void> {
  const certificates = await revokeAll(context, [sql<boolean>`subject = ${role} and kind in ('service', 'role')`]);
  if (certificates === 0) return;
  await context.audit({ action: 'end-role', subject: role, after: JSON.stringify({ certificates }) });
}

type Condition = ReturnType<typeof sql<boolean>>;

/** Revokes every certificate of these that has not expired; answers how many. */
async function revokeAll({ db, now, actor, revoked }: NamesContext, conditions: readonly Condition[]): Promise<number> {
  const revocation: Revocation = { reason: 'cessation-of-operation', at: Math.floor(now / 1000), by: actor };
  const serials = new Set<Selectable<CertificatesTable>['serial']>();
  for (const condition of conditions) {
    const rows = await db
      .selectFrom('certificates')
      .select('serial')
      .where(condition)
      .where('not_after', '>=', revocation.at)
      .where('revoked_at', 'is', null)
      .execute();
    for (const { serial } of rows) serials.add(serial);
  }
  const asked = await revokeRows(db, [...serials], revocation);
  revoked(revocation.reason, serials.size + asked.length);
  return serials.size;
}
