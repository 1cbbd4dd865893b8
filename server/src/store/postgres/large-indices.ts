import { type Kysely, sql } from 'kysely';
import type { Schema } from '../database-schema.ts';
import type { LargeIndex } from '../large-index.ts';
import type { PostgresConnections } from './connections.ts';

/** Key of the advisory lock under which one server creates indices. */
const indexLock = 6_000_602;

/**
 * Makes those of the indices that are missing, while others read and write. One that was cut off is made again; those that another server is
 * making are left to it. `db` has no timeout for statements, and is in no transaction.
 */
export async function createLargeIndices(
  db: Kysely<Schema>,
  connections: PostgresConnections,
  indices: readonly LargeIndex[],
): Promise<void> {
  if (await areAllThere(db, indices)) return;
  // INVARIANT: two servers that make indices of one table wait for each other, and the database ends one of them as a deadlock.
  await unlessAnotherDoes(connections, async () => {
    for (const index of indices) await createIndex(db, index);
  });
}

async function areAllThere(db: Kysely<Schema>, indices: readonly LargeIndex[]): Promise<boolean> {
  for (const { name } of indices) if ((await stateOf(db, name)) !== 'valid') return false;
  return true;
}

async function createIndex(db: Kysely<Schema>, { name, on }: LargeIndex): Promise<void> {
  const state = await stateOf(db, name);
  if (state === 'valid' || state === 'building') return;
  if (state === 'cut off') await sql`drop index concurrently if exists ${sql.ref(name)}`.execute(db);
  await sql`create index concurrently if not exists ${sql.ref(name)} on ${sql.raw(on)}`.execute(db);
}

/** `building`: by a server of an older program, or by hand. */
async function stateOf(db: Kysely<Schema>, name: string): Promise<'valid' | 'building' | 'cut off' | 'missing'> {
  const { rows } = await sql<{ valid: boolean; building: boolean }>`
    select i.indisvalid as valid,
      exists (select 1 from pg_stat_progress_create_index p where p.index_relid = i.indexrelid) as building
    from pg_index i where i.indexrelid = to_regclass(${name})`.execute(db);
  const [found] = rows;
  if (found === undefined) return 'missing';
  return found.valid ? 'valid' : found.building ? 'building' : 'cut off';
}

/** The lock is that of a transaction beside the work: one of a session is lost behind a pooler, and indices are made in none. */
async function unlessAnotherDoes(connections: PostgresConnections, work: () => Promise<void>): Promise<void> {
  const { client, end } = await connections.single();
  try {
    await client.query('begin isolation level read committed; set local idle_in_transaction_session_timeout = 0');
    // Simple query without a parameter: with one its snapshot would be held until the transaction ends, and indices wait for those.
    const { rows } = await client.query<{ ours: boolean }>(`select pg_try_advisory_xact_lock(${indexLock}) as ours`);
    if (rows[0]?.ours === true) await work();
  } finally {
    end();
  }
}
