import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import { type Schema, tableNames } from '../database-schema.ts';
import { serverName } from './connections.ts';

/** Status of a database server. Values that only its administrators may see are null. */
export interface PostgresStatus {
  readonly serverVersion: string;
  /** The primary that is in use, as configured. */
  readonly primary: string;
  readonly synchronousStandbyNames: string;
  readonly maxConnections: number;
  /** Connections of all databases and users. */
  readonly connections: number;
  readonly standbys: readonly z.infer<typeof standbyRow>[];
  /** The servers of this store, and commands that do what a server does, by the address that they come from. */
  readonly servers: readonly z.infer<typeof serverRow>[];
}

const standbyRow = z.object({
  name: z.string().nullable(),
  address: z.string().nullable(),
  state: z.string().nullable(),
  sync: z.string().nullable(),
});
const serverRow = z.object({ address: z.string(), connections: z.int(), since: z.string().nullable() });
const factsRow = z.object({
  serverVersion: z.string(),
  synchronousStandbyNames: z.string(),
  maxConnections: z.int(),
  connections: z.int(),
  sizeBytes: z.int(),
});

export async function readPostgresStatus(
  db: Kysely<Schema>,
  primary: string,
): Promise<PostgresStatus & { readonly sizeBytes: number }> {
  const facts = await sql`select current_setting('server_version') as "serverVersion",
    current_setting('synchronous_standby_names') as "synchronousStandbyNames",
    current_setting('max_connections')::int as "maxConnections",
    (select count(*) from pg_stat_activity where datid is not null)::int as connections,
    pg_database_size(current_database()) as "sizeBytes"`.execute(db);
  const standbys = await sql`select application_name as name, host(client_addr) as address, state, sync_state as sync
    from pg_stat_replication order by 1, 2`.execute(db);
  const servers = await sql`select coalesce(host(client_addr), 'local') as address, count(*)::int as connections,
      to_char(min(backend_start) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
    from pg_stat_activity where datname = current_database() and application_name = ${serverName}
    group by 1 order by 1`.execute(db);
  return {
    primary,
    ...factsRow.parse(facts.rows[0]),
    standbys: z.array(standbyRow).parse(standbys.rows),
    servers: z.array(serverRow).parse(servers.rows),
  };
}

/** Size class of a table, as far as counting its rows matters. */
export interface TableSize {
  readonly table: string;
  readonly isLarge: boolean;
  readonly estimate: number;
}

/** Size above which a table's rows are not counted: counting reads it. */
const largeBytes = 100_000_000;
const sizeRow = z.object({ table: z.string(), bytes: z.int(), estimate: z.int() });

export async function readTableSizes(db: Kysely<Schema>): Promise<readonly TableSize[]> {
  const { rows } = await sql`select name as "table", pg_relation_size(c.oid) as bytes,
      greatest(c.reltuples, 0)::int8 as estimate
    from unnest(${tableNames}::text[]) as name join pg_class c on c.oid = to_regclass(name)`.execute(db);
  return z
    .array(sizeRow)
    .parse(rows)
    .map(({ table, bytes, estimate }) => ({ table, estimate, isLarge: bytes > largeBytes }));
}
