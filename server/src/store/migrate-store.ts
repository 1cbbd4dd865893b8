import { existsSync } from 'node:fs';
import type { StorePlace } from '../config/store-place.ts';
import { openStore } from './open.ts';
import { appliedPostgresSteps } from './postgres/copy-ends.ts';
import { appliedSqliteSteps } from './sqlite/known-schema.ts';

interface MigratedStore {
  /** How many steps it had. */
  readonly before: number;
  /** How many it has now. */
  readonly steps: number;
  /** Steps that were executed. */
  readonly made: readonly string[];
}

/** Migrates the schema of a store, also where servers do not do so by themselves. Throws `StoreRefusedError`. */
export async function migrateStore(store: StorePlace): Promise<MigratedStore> {
  const before = await stepsOf(store);
  const opened = await openStore(store.kind === 'sqlite' ? store : { ...store, migrate: 'auto', listen: false });
  await opened.close();
  const after = await stepsOf(store);
  return { before: before.length, steps: after.length, made: after.filter((step) => !before.includes(step)) };
}

async function stepsOf(store: StorePlace): Promise<readonly string[]> {
  if (store.kind === 'postgres') return appliedPostgresSteps(store);
  return existsSync(store.file) ? appliedSqliteSteps(store.file) : [];
}
