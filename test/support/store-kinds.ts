import { join } from 'node:path';
import type { StorePlace } from '@signet/server/config/store-place';
import { openStore } from '@signet/server/store/open';
import { postgresPrograms, sharedPostgres } from './postgres.ts';
import { temporaryFolder } from './temp.ts';

/** A kind of database that a store can be in. */
export interface StoreKind {
  readonly name: string;
  /** A place for a new store, which can be opened any number of times. */
  place(t: Parameters<typeof temporaryFolder>[0]): Promise<StorePlace>;
  /** The same without any tables. */
  empty(t: Parameters<typeof temporaryFolder>[0]): Promise<StorePlace>;
}

const newFile: StoreKind['place'] = async (t) => ({ kind: 'sqlite', file: join(temporaryFolder(t), 'signet.db') });

const sqlite: StoreKind = { name: 'SQLite', place: newFile, empty: newFile };

/** It does not compare bytes, as SQLite does: a comparison that does not state its own differs. */
const collation = 'icu-en-US';
let template: Promise<string> | undefined;

const emptyDatabase = async (from?: string): Promise<StorePlace> => {
  const server = await sharedPostgres();
  return { kind: 'postgres', ...server.settings(await server.createDatabase(collation, from)) };
};

const migrated = async (): Promise<string> => {
  const place = await emptyDatabase();
  await (await openStore(place)).close();
  return place.kind === 'postgres' ? place.database : '';
};

const postgres: StoreKind = {
  name: 'PostgreSQL',
  place: async () => {
    template ??= migrated();
    return emptyDatabase(await template);
  },
  empty: () => emptyDatabase(),
};

/** Every kind whose database is installed here. */
export const storeKinds: readonly StoreKind[] = postgresPrograms === undefined ? [sqlite] : [sqlite, postgres];
