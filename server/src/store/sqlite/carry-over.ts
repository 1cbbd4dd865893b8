import type Database from 'better-sqlite3';
import { z } from 'zod';
import { isUnreadable } from './sqlite-errors.ts';

/* A restore goes back to the domains of the backup. What happened in the world since does not go back: certificates that were issued or
   revoked, instances, spent tokens, keys that sign. Here `main` is the store that begins, `replaced` the one that ends. */

/** How many rows of the replaced store live on in the new one. */
export interface KeptRows {
  readonly certificates: number;
  readonly revocations: number;
  readonly instances: number;
  readonly signingKeys: number;
  readonly auditRecords: number;
  /** The parts that could not be read, or do not fit the backup; empty when everything is there. */
  readonly lost: readonly string[];
}

type Part =
  | 'certificates'
  | 'revocations'
  | 'instances'
  | 'joinTokens'
  | 'attestationTokens'
  | 'signingKeys'
  | 'crlNumbers'
  | 'names'
  | 'versions'
  | 'auditRecords';

/** Each takes what it can; `undefined` when the part does not fit. Revocations need the rows of their certificates. */
const parts: readonly (readonly [Part, (database: Database.Database, now: number) => number | undefined])[] = [
  ['certificates', keepCertificates],
  ['revocations', keepRevocations],
  ['instances', keepInstances],
  ['joinTokens', keepJoinTokens],
  ['attestationTokens', keepAttestationTokens],
  ['signingKeys', keepSigningKeys],
  ['crlNumbers', keepCrlNumbers],
  ['names', endNames],
  ['versions', keepVersions],
  ['auditRecords', keepAudit],
];

/**
 * Copies from `replaced` the records that must not be forgotten, each part in a transaction of its own: `main` is not in use yet. A part with a
 * corrupt page is left out and named. `now` in seconds.
 */
export function carryOver(database: Database.Database, now: number): KeptRows {
  const kept = new Map<Part, number>();
  const lost: Part[] = [];
  for (const [part, keep] of parts) {
    const rows = readable(() => database.transaction(() => keep(database, now))());
    if (rows === undefined) lost.push(part);
    else kept.set(part, rows);
  }
  return {
    certificates: kept.get('certificates') ?? 0,
    revocations: kept.get('revocations') ?? 0,
    instances: kept.get('instances') ?? 0,
    signingKeys: kept.get('signingKeys') ?? 0,
    auditRecords: kept.get('auditRecords') ?? 0,
    lost,
  };
}

function readable<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}

const columnRows = z.array(z.object({ name: z.string() }));
const revocationColumns = ['revoked_at', 'revocation_reason', 'revoked_by', 'revocation_sequence'];

/** Keeps certificates, revoked ones not marked yet: their places in the order of revocations may be taken. */
function keepCertificates(database: Database.Database): number {
  const info = columnRows.parse(database.prepare("select name from pragma_table_info('certificates')").all());
  const columns = info.map(({ name }) => name).filter((name) => !revocationColumns.includes(name));
  const list = columns.join(', ');
  // The backup may have been made between the intent and the record: what is handed out since is known to the replaced store alone.
  const insert = `insert into main.certificates (${list}) select ${list} from replaced.certificates where true
    on conflict (serial) do update set state = excluded.state, fingerprint = excluded.fingerprint
    where state = 'intended' and excluded.state <> 'intended'`;
  return database.prepare(insert).run().changes;
}

function keepRevocations(database: Database.Database): number {
  return database.prepare(mergeRevocations).run().changes;
}

const mergeRevocations = `
  with late as materialized (
    select old.serial, old.revoked_at, old.revocation_reason, old.revoked_by,
      (select coalesce(max(revocation_sequence), 0) from main.certificates)
        + row_number() over (order by old.revocation_sequence) as sequence
    from replaced.certificates as old join main.certificates as new on new.serial = old.serial
    where old.revoked_at is not null and new.revoked_at is null
  )
  update main.certificates as new
  set revoked_at = late.revoked_at, revocation_reason = late.revocation_reason, revoked_by = late.revoked_by,
    revocation_sequence = late.sequence
  from late where new.serial = late.serial`;

const instanceKey = 'provider, domain, service, instance_id';

/** The replaced store knows best which certificate an instance holds. One that it does not know any more and whose certificate was revoked is gone. */
function keepInstances(database: Database.Database): number {
  database.exec(`
    delete from main.instances
    where current_serial in (select serial from main.certificates where revoked_at is not null)
      and (${instanceKey}) not in (select ${instanceKey} from replaced.instances)`);
  return database.prepare('insert or replace into main.instances select * from replaced.instances').run().changes;
}

/** A token that the replaced store does not know may have been spent. */
function keepJoinTokens(database: Database.Database, now: number): number {
  const spend = 'update main.join_tokens set spent_at = ? where spent_at is null and digest not in';
  database.prepare(`${spend} (select digest from replaced.join_tokens)`).run(now);
  return database.prepare('insert or replace into main.join_tokens select * from replaced.join_tokens').run().changes;
}

/** Keeps spent attestation tokens: one that was used before the restore is not valid again. */
function keepAttestationTokens(database: Database.Database): number {
  const insert = 'insert or replace into main.attestation_tokens select * from replaced.attestation_tokens';
  return database.prepare(insert).run().changes;
}

function keepSigningKeys(database: Database.Database): number {
  const insert = database.prepare('insert or ignore into main.signing_keys select * from replaced.signing_keys');
  const { changes } = insert.run();
  database.exec(`
    update main.signing_keys as new set compromised_at = old.compromised_at, sealing_key = null, sealed = null from replaced.signing_keys as old
    where old.kid = new.kid and old.compromised_at is not null and new.compromised_at is null`);
  // The sealing key of the backup may be gone since.
  database.exec(`
    update main.signing_keys as new set sealing_key = old.sealing_key, sealed = old.sealed from replaced.signing_keys as old
    where old.kid = new.kid and old.sealed is not null and new.compromised_at is null`);
  // A standby key that was needed since the backup has signed since.
  database.exec(`
    update main.signing_keys as new set activate_at = old.activate_at from replaced.signing_keys as old
    where old.kid = new.kid and old.activate_at < new.activate_at`);
  return changes;
}

/* Keeps the numbers of revocation lists only: the next list holds what expired since the one of the backup. */
function keepCrlNumbers(database: Database.Database): number {
  const insert = `insert into main.revocation_lists select * from replaced.revocation_lists where true
    on conflict (issuer) do update set number = max(number, excluded.number)`;
  return database.prepare(insert).run().changes;
}

/*
 * Ends names that the backup and the replaced store do not give to the same holder: those that only the replaced store knows are deleted, and
 * those that were deleted or used again since the backup begin again. Credentials of either end, as with a deletion.
 */
function endNames(database: Database.Database, now: number): number {
  const at = now * 1000;
  database.exec('create temp table ends (name text primary key, is_back integer not null)');
  for (const part of [domainsThatEnd, servicesThatEnd, rolesThatEnd]) database.exec(part);
  const { changes } = database.prepare(revokeOfEnded).run({ now });
  database.exec(`
    delete from main.instances where domain || '.' || service in (select name from ends) or provider in (select name from ends);
    delete from main.join_tokens where domain || '.' || service in (select name from ends)
      or provider in (select name from ends) or created_by in (select name from ends);
    insert or replace into main.ended_names (name, ended_at, ended_by)
    select name, ended_at, ended_by from replaced.ended_names
    where name not in (${usedDomains}) and name not in (${usedServices})`);
  const end = `insert or replace into main.ended_names (name, ended_at, ended_by)
    select name, ?, 'restore' from ends where is_back = 0 and name not like '%:role.%'`;
  database.prepare(end).run(at);
  for (const [table, name] of [
    ['domains', 'name'],
    ['services', "domain || '.' || name"],
  ]) {
    const begin = `update main.${table} set credentials_from = ? where ${name} in (select name from ends where is_back = 1)`;
    database.prepare(begin).run(at);
  }
  database.exec('drop table ends');
  return changes;
}

const usedDomains = 'select name from main.domains where deleted = 0';
const usedServices = "select domain || '.' || name from main.services";

/* The name of a domain cannot be taken for that of a service here: it would only end as well. */
const domainsThatEnd = `
  insert or ignore into ends
  select name, 0 from replaced.domains where deleted = 0 and name not in (${usedDomains})
  union all select name, 1 from replaced.ended_names where name in (${usedDomains})
  union all select new.name, 1 from main.domains as new join replaced.domains as old on old.name = new.name
    where new.deleted = 0 and old.credentials_from > new.credentials_from`;

const servicesThatEnd = `
  insert or ignore into ends
  select domain || '.' || name, 0 from replaced.services where domain || '.' || name not in (${usedServices})
  union all select name, 1 from replaced.ended_names where name in (${usedServices})
  union all select new.domain || '.' || new.name, 1 from main.services as new
    join replaced.services as old on old.domain = new.domain and old.name = new.name
    where old.credentials_from > new.credentials_from`;

/** Roles that end: of a domain that begins again all of them. */
const rolesThatEnd = `
  insert or ignore into ends
  select domain || ':role.' || name, 0 from replaced.roles
    where (domain, name) not in (select domain, name from main.roles) or domain in (select name from ends)`;

const revokeOfEnded = `
  with ended as materialized (
    select serial, (select coalesce(max(revocation_sequence), 0) from main.certificates)
      + row_number() over (order by serial) as sequence
    from main.certificates where revoked_at is null and not_after >= @now and (holder in (select name from ends)
      or provider in (select name from ends)
      or (kind in ('service', 'role') and subject in (select name from ends)))
  )
  update main.certificates as new
  set revoked_at = @now, revocation_reason = 'cessation-of-operation', revoked_by = 'restore',
    revocation_sequence = ended.sequence
  from ended where new.serial = ended.serial`;

/** Keeps versions, so that none of a domain is used for two contents, also of one that only the replaced store knows. */
function keepVersions(database: Database.Database): number {
  database.exec(`
    insert into main.domains (name, enabled, deleted, policy_version, policy_modified, dns_form)
    select name, 0, 1, policy_version, policy_modified, case when dns_form in (select dns_form from main.domains) then null else dns_form end
    from replaced.domains where name not in (select name from main.domains)`);
  const raise = `update main.domains as new set policy_version = old.policy_version + 1
    from replaced.domains as old where old.name = new.name and old.policy_version > new.policy_version and new.deleted = 0`;
  return database.prepare(raise).run().changes;
}

const headRow = z.object({ audit_head: z.string() });
const idRow = z.object({ id: z.int() });

/** Keeps the rest of the audit log, if the chain of the replaced store goes on from the backup's. */
function keepAudit(database: Database.Database): number | undefined {
  const { audit_head: head } = headRow.parse(database.prepare('select audit_head from main.meta').get());
  const { audit_head: oldHead } = headRow.parse(database.prepare('select audit_head from replaced.meta').get());
  if (oldHead === '' || contains(database, 'main', oldHead)) return 0;
  const branch = head === '' ? 0 : idOf(database, 'replaced', head);
  if (branch === undefined) return undefined;
  const added = database
    .prepare('insert into main.audit select * from replaced.audit where id > ?')
    .run(branch).changes;
  database
    .prepare('insert into main.audit_objects select * from replaced.audit_objects where audit_id > ?')
    .run(branch);
  database.prepare('update main.meta set audit_head = ?').run(oldHead);
  return added;
}

function contains(database: Database.Database, schema: 'main' | 'replaced', hash: string): boolean {
  return idOf(database, schema, hash) !== undefined;
}

function idOf(database: Database.Database, schema: 'main' | 'replaced', hash: string): number | undefined {
  return idRow.optional().parse(database.prepare(`select id from ${schema}.audit where hash = ?`).get(hash))?.id;
}
