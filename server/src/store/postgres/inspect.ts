import { z } from 'zod';
import type { PostgresSettings } from '../../config/store-place.ts';
import { StoreRefusedError } from '../../errors.ts';
import { PostgresConnections } from './connections.ts';
import { migrate } from './migrate.ts';
import { refusalOf } from './postgres-errors.ts';

const factsRow = z.object({
  version: z.string(),
  tls: z.string().nullable(),
  synchronous_standby_names: z.string(),
  synchronous_commit: z.string(),
  standbys: z.int(),
  connections: z.int(),
  used: z.int(),
  servers: z.int(),
});

/** Properties of a database on which servers depend. */
export interface DatabaseFacts {
  /** Host as configured. */
  readonly host: string;
  readonly version: string;
  /** The version of TLS; undefined without. */
  readonly tls: string | undefined;
  readonly synchronousStandbys: string;
  readonly synchronousCommit: string;
  /** Servers that follow this one, synchronous or not. */
  readonly standbys: number;
  /** How many connections this user may have here at once. */
  readonly connections: number;
  /** Present connections of others that count against the limit. */
  readonly usedByOthers: number;
  /** Processes of Signet that are connected: those that listen, or their addresses if these are more. */
  readonly processes: number;
  /** Reason why no server starts with this schema; undefined if it is up to date. */
  readonly schemaProblem: string | undefined;
}

/** Connection counts. Rows of other users are seen without their names, so unknown ones count as those of others. */
const facts = `
  with ours as (
    select client_addr, query from pg_stat_activity
    where usename = current_user and datname = current_database() and application_name = 'signet' and pid <> pg_backend_pid())
  select current_setting('server_version') as version,
    (select version from pg_stat_ssl where pid = pg_backend_pid() and ssl) as tls,
    current_setting('synchronous_standby_names') as synchronous_standby_names,
    current_setting('synchronous_commit') as synchronous_commit,
    (select count(*)::int from pg_stat_replication) as standbys,
    (select least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
      (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
      (select nullif(datconnlimit, -1) from pg_database where datname = current_database()))) as connections,
    (select count(*)::int from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid())
      - (select count(*)::int from ours) as used,
    (select greatest(count(*) filter (where query = 'listen signet'), count(distinct coalesce(host(client_addr), '')))::int
      from ours) as servers`;

/**
 * Queries the primary of the hosts; nothing is changed. Throws `StoreRefusedError` and `StoreUnavailableError` as opening the store does, but
 * for its schema.
 */
export async function inspectPostgres(settings: PostgresSettings): Promise<DatabaseFacts> {
  const place = `${settings.hosts.join(',')}/${settings.database}`;
  const connections = new PostgresConnections(settings);
  try {
    await connections.open();
    const host = connections.host() ?? place;
    const schemaProblem = await schemaProblemOf(connections, place);
    const client = await connections.connect();
    try {
      const { rows } = await client.query(facts);
      const row = factsRow.parse(rows[0]);
      return {
        host,
        version: row.version,
        tls: row.tls ?? undefined,
        synchronousStandbys: row.synchronous_standby_names,
        synchronousCommit: row.synchronous_commit,
        standbys: row.standbys,
        connections: row.connections,
        usedByOthers: row.used,
        processes: row.servers,
        schemaProblem,
      };
    } finally {
      client.release();
    }
  } catch (error) {
    throw refusalOf(error, `\`${place}\``);
  } finally {
    await connections.close();
  }
}

async function schemaProblemOf(connections: PostgresConnections, place: string): Promise<string | undefined> {
  try {
    await migrate(connections, { place, now: 0, mode: 'check' });
    return undefined;
  } catch (error) {
    if (error instanceof StoreRefusedError) return error.message;
    throw error;
  }
}
