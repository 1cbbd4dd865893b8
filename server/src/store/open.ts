import type { Store } from '../model/store.ts';
import { openSqliteStore, type SqliteStoreOptions } from './sqlite/open-sqlite.ts';
import { isUnwritable } from './sqlite/sqlite-errors.ts';

/* The one place that knows which kind of database a store is in. Whoever needs one asks here, and knows `Store` alone. */

/** Where the store is, as the configuration says. */
interface StorePlace {
  readonly storeFile: string;
}

type StoreOptions = SqliteStoreOptions;

/** Opens the store, and makes it where there is none. Throws `StoreRefusedError` and `StoreUnavailableError`. */
export function openStore({ storeFile }: StorePlace, options: StoreOptions = {}): Promise<Store> {
  return openSqliteStore(storeFile, options);
}

export { isUnwritable };
