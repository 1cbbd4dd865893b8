import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { StorePlace } from '@signet/server/config/store-place';
import type { PostgresServer } from '../measure/postgres.ts';
import { createHome, type FilledHome, partOf } from '../sizes/stores.ts';

export type PostgresPlace = StorePlace & { readonly kind: 'postgres' };

/** A home on each kind of store, with the same content. */
export interface Pair {
  readonly sqlite: FilledHome;
  readonly postgres: FilledHome & { readonly place: PostgresPlace };
}

export const kinds = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

export const refreshIntervalMs = 250;

/** Fills both; `share` is of the size that is aimed at. */
export async function createPair(database: PostgresServer, parent: string, share: number): Promise<Pair> {
  const size = partOf(share);
  const folder = join(parent, `pair-${size.domains}`);
  mkdirSync(folder);
  const place = database.createDatabase(`signet_${size.domains}`);
  const sqlite = await createHome(folder, size, { refreshIntervalMs, name: kinds.sqlite });
  const postgres = await createHome(folder, size, { refreshIntervalMs, name: kinds.postgres, place });
  return { sqlite, postgres: { ...postgres, place } };
}
