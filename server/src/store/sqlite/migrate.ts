import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { StoreRefusedError } from '../../errors.ts';
import { migrations } from '../migrations/index.ts';
import type { Schema } from '../schema.ts';

/** Runs the missing steps in one transaction that takes the write lock first, so one process does it and the others find it done. */
export async function migrate(db: Kysely<Schema>, file: string, now: number): Promise<void> {
  await checkSchemaVersion(db, file, 'older-is-fine');
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  await db
    .insertInto('meta')
    .values({
      id: 1,
      epoch: 1,
      counter: 0,
      next_id: 1,
      created_at: now,
      audit_head: '',
      paging_secret: randomBytes(32).toString('base64url'),
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/** Refuses a store whose schema this program does not know; with `current` also one that it would have to bring up to date. */
export async function checkSchemaVersion(
  db: Kysely<Schema>,
  file: string,
  want: 'current' | 'older-is-fine' = 'current',
): Promise<void> {
  refuseOtherSchema(await appliedMigrations(db), file, want);
}

/** The same for the names of the steps that a store has seen. Throws `StoreRefusedError`. */
export function refuseOtherSchema(
  applied: readonly string[],
  file: string,
  want: 'current' | 'older-is-fine' = 'current',
): void {
  if (applied.some((name) => !Object.hasOwn(migrations, name))) {
    throw new StoreRefusedError('newer-schema', `store \`${file}\` was written by a newer version of this program`);
  }
  if (want === 'current' && applied.length < Object.keys(migrations).length) {
    throw new StoreRefusedError(
      'older-schema',
      `store \`${file}\` has an older schema: start the server once to bring it up to date`,
    );
  }
}

async function appliedMigrations(db: Kysely<Schema>): Promise<string[]> {
  const tables = await sql<{ name: string }>`select name from sqlite_master where name = 'kysely_migration'`.execute(
    db,
  );
  if (tables.rows.length === 0) return [];
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db);
  return rows.map((row) => row.name);
}
