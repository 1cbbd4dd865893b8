import type { StorePlace } from '../config/store-place.ts';
import type { Store } from '../model/store.ts';
import type { PostgresStoreOptions } from './postgres/open-postgres.ts';
import { openSqliteStore, type SqliteStoreOptions } from './sqlite/open-sqlite.ts';
import { isUnwritable } from './sqlite/sqlite-errors.ts';

/* The only module that knows which kind of database a store is in. Its callers know `Store` alone. */

type StoreOptions = SqliteStoreOptions & PostgresStoreOptions;

/** Opens the store; creates it if absent. Throws `StoreRefusedError` and `StoreUnavailableError`. */
export async function openStore(place: StorePlace, options: StoreOptions = {}): Promise<Store> {
  if (place.kind === 'sqlite') return openSqliteStore(place.file, options);
  const { openPostgresStore } = await import('./postgres/open-postgres.ts');
  return openPostgresStore(place, options);
}

export { isUnwritable };
