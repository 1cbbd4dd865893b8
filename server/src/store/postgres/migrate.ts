import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { StoreRefusedError, StoreUnavailableError } from '../../errors.ts';
import { type Schema, tableNames } from '../database-schema.ts';
import { refuseOtherSteps } from '../known-steps.ts';
import { insertMeta } from '../meta-row.ts';
import { largeIndices, migrations, stepsNeeded } from '../migrations/index.ts';
import { ByteWiseText } from './byte-wise-text.ts';
import type { PostgresConnections } from './connections.ts';
import { createLargeIndices } from './large-indices.ts';
import { isWorthRepeating, sqlStateOf } from './postgres-errors.ts';
import { PostgresQueries } from './postgres-queries.ts';

/** Key of the advisory lock under which one server migrates. */
const migrationLock = 6_000_601;
/** A wait for it is this long, and repeated up to this often. */
const lockTimeoutMs = 5000;
const lockAttempts = 24;
/** Steps rewrite tables of any size. */
const stepTimeoutMs = 3_600_000;

export interface MigrateOptions {
  /** Place for messages. */
  readonly place: string;
  readonly now: number;
  /** `check`: an older schema is refused. */
  readonly mode: 'migrate' | 'check';
  /** Executed first in the transaction that makes the first tables. */
  readonly beforeTables?: ((db: Kysely<Schema>) => Promise<void>) | undefined;
}

/** Schema level: the number of steps that a program must know to work with it. Beside the steps, for programs that do not know them. */
const levelTable = sql`create table if not exists schema_level (
  id integer primary key check (id = 1), least_program integer not null)`;

/**
 * Migrates the schema: one server does it, the others wait until it is done. A schema of a newer program is accepted as long as that program
 * says so. Throws `StoreRefusedError` for any other, and `StoreUnavailableError` when the wait is too long.
 */
export async function migrate(connections: PostgresConnections, options: MigrateOptions): Promise<void> {
  const queries = new PostgresQueries(connections, migrationUse, [new ByteWiseText()]);
  await runStepsOnce(queries, options);
  if (options.mode === 'migrate') await createLargeIndices(queries.db, connections, largeIndices);
}

async function runStepsOnce(queries: PostgresQueries, options: MigrateOptions): Promise<void> {
  for (let waits = 1; ; waits++) {
    if (await isCurrent(queries.db, options)) return;
    try {
      await queries.transact((transaction) => runSteps(transaction, options));
      return;
    } catch (error) {
      // The wait for a lock was too long, or would never have ended: an index that another server makes may wait for this one.
      if (sqlStateOf(error) !== '55P03' && !isWorthRepeating(error)) throw error;
      if (waits === lockAttempts) {
        const text = `store \`${options.place}\` is being migrated by another server: start this server again when the migration has finished`;
        throw new StoreUnavailableError(text, { cause: error });
      }
      await sleep(Math.random() * 100);
    }
  }
}

const migrationUse = {
  begin: `begin isolation level read committed; set local statement_timeout = 0; set local lock_timeout = ${lockTimeoutMs};
    set local idle_in_transaction_session_timeout = 60000; select pg_advisory_xact_lock(${migrationLock})`,
  commit: 'commit',
  timeoutMs: stepTimeoutMs,
};

async function isCurrent(db: Kysely<Schema>, { place, mode }: MigrateOptions): Promise<boolean> {
  const applied = await appliedSteps(db);
  const known = Object.keys(migrations);
  if (applied.length > known.length && known.every((name, at) => name === applied[at])) {
    const { rows } = await sql<{ least: number }>`select least_program as least from schema_level where id = 1`.execute(
      db,
    );
    if ((rows[0]?.least ?? applied.length) <= known.length) return true;
  }
  refuseOtherSteps(applied, place, 'older-is-fine');
  if (applied.length === known.length) return true;
  if (mode === 'migrate') return false;
  throw new StoreRefusedError('older-schema', `store \`${place}\` has an older schema: run \`signet store migrate\``);
}

/** The steps that a database has seen, in their order. */
export async function appliedSteps(db: Kysely<Schema>): Promise<string[]> {
  const { rows: tables } = await sql<{
    there: boolean;
  }>`select to_regclass('kysely_migration') is not null as there`.execute(db);
  if (tables[0]?.there !== true) return [];
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name collate "C"`.execute(db);
  return rows.map(({ name }) => name);
}

async function runSteps(db: Kysely<Schema>, { now, place, beforeTables }: MigrateOptions): Promise<void> {
  // Another server may have migrated meanwhile, even one of a newer program.
  if (await isCurrent(db, { now, place, mode: 'migrate' })) return;
  if ((await appliedSteps(db)).length === 0) await beforeTables?.(db);
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  await insertMeta(db, now);
  await levelTable.execute(db);
  await sql`insert into schema_level (id, least_program) values (1, ${stepsNeeded})
    on conflict (id) do update set least_program = excluded.least_program`.execute(db);
}

/** Throws `StoreRefusedError` when the tables have anything that changes what a statement of this program means. */
export async function checkTables(db: Kysely<Schema>, place: string): Promise<void> {
  const { rows } = await sql<{ what: string }>`
    with ours as (
      select c.oid, c.relname, c.relrowsecurity from pg_class c
      where c.oid in (select to_regclass(name) from unnest(${tableNames}::text[]) as name) and c.relkind = 'r')
    select 'the column ' || relname || '.' || attname || ' is not compared by its bytes' as what
      from ours join pg_attribute a on a.attrelid = ours.oid join pg_collation l on l.oid = a.attcollation
      where a.attnum > 0 and not a.attisdropped and l.collname not in ('C', 'POSIX')
    union all select 'the trigger ' || tgname from ours join pg_trigger on tgrelid = ours.oid where not tgisinternal
    union all select 'the rule ' || rulename from ours join pg_rewrite on ev_class = ours.oid
    union all select 'row security of ' || relname from ours where relrowsecurity
    limit 1`.execute(db);
  const [found] = rows;
  if (found === undefined) return;
  throw new StoreRefusedError('foreign-schema', `store \`${place}\` is not what this program made: ${found.what}`);
}
