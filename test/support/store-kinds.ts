import { join } from 'node:path';
import type { StorePlace } from '@signet/server/config/store-place';
import { openStore } from '@signet/server/store/open';
import { type Collation, postgresPrograms, sharedPostgres } from './postgres.ts';
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

function postgres(collation: Collation): StoreKind {
  let template: Promise<string> | undefined;
  const place = async (from?: string): Promise<StorePlace> => {
    const server = await sharedPostgres();
    return { kind: 'postgres', ...server.settings(await server.createDatabase(collation, from)) };
  };
  const migrated = async (): Promise<string> => {
    const made = await place();
    await (await openStore(made)).close();
    return made.kind === 'postgres' ? made.database : '';
  };
  return {
    name: `PostgreSQL ${collation}`,
    place: async () => {
      template ??= migrated();
      return place(await template);
    },
    empty: () => place(),
  };
}

/** Every kind whose database is installed here. */
export const storeKinds: readonly StoreKind[] =
  postgresPrograms === undefined ? [sqlite] : [sqlite, postgres('C'), postgres('icu-en-US')];
