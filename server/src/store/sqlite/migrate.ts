import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { StoreRefusedError } from '../../errors.ts';
import type { Schema } from '../database-schema.ts';
import { migrations } from '../migrations/index.ts';

/** Runs the missing steps in one transaction that takes the write lock first, so one process does it and the others find it done. */
export async function migrate(db: Kysely<Schema>, now: number): Promise<void> {
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
      sequence: 0,
      written_at: 0,
      written_by: '',
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/** Refuses the steps of another program than this, by their names in order. Throws `StoreRefusedError`. */
export function refuseOtherSteps(
  applied: readonly string[],
  file: string,
  want: 'current' | 'older-is-fine' = 'current',
): void {
  const steps = Object.keys(migrations);
  if (applied.some((name, at) => name !== steps[at])) throw otherSteps(applied, steps, file);
  if (want === 'current' && applied.length < steps.length) {
    throw new StoreRefusedError(
      'older-schema',
      `store \`${file}\` has an older schema: start the server once to bring it up to date`,
    );
  }
}

/** A newer program goes on where this one ends; one whose steps were merged or renamed since has others in between. */
function otherSteps(applied: readonly string[], steps: readonly string[], file: string): StoreRefusedError {
  if (steps.every((name, at) => name === applied[at])) {
    return new StoreRefusedError('newer-schema', `store \`${file}\` was written by a newer version of this program`);
  }
  const list = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ');
  const unknown = applied.filter((name) => !steps.includes(name));
  const missing = steps.filter((name) => !applied.includes(name));
  const differences = [
    ...(missing.length > 0 ? [`it lacks the migration ${list(missing)}`] : []),
    ...(unknown.length > 0 ? [`it has the migration ${list(unknown)}, which this version does not know`] : []),
  ];
  const help = 'export its documents with the version that wrote it, and apply them to a new store';
  return new StoreRefusedError(
    'diverged-schema',
    `store \`${file}\` was written by a development version of this program (${differences.join('; ')}): ${help}`,
  );
}
