import { type Clock, systemClock } from '@signet/policy-engine/clock';
import type { PostgresSettings } from '../../config/store-place.ts';
import type { Store } from '../../model/store.ts';
import { partialCopy } from '../copy/copy-mark.ts';
import { KyselyStore } from '../kysely-store.ts';
import { PostgresConnections } from './connections.ts';
import { listen } from './listen.ts';
import { checkTables, migrate } from './migrate.ts';
import { isMarked } from './partial-copy.ts';
import { PostgresStoreDatabase } from './postgres-database.ts';
import { refusalOf } from './postgres-errors.ts';
import { PostgresQueries } from './postgres-queries.ts';
import { usesOf } from './uses.ts';

export interface PostgresStoreOptions {
  readonly clock?: Clock;
  /** Monotonic clock in milliseconds; default: that of the process. */
  readonly monotonic?: () => number;
  /** The schema must be there, and every change is refused. */
  readonly readonly?: boolean;
  /** Called for problems that do not keep the store from working. */
  readonly onProblem?: (message: string) => void;
}

/**
 * Opens the store in a PostgreSQL database and brings its schema up to date. Throws `StoreRefusedError` (exit status 78) for a standby, a log-in
 * that fails, a certificate that is not trusted, and a schema that is not this program's; `StoreUnavailableError` when no server answers.
 */
export async function openPostgresStore(
  settings: PostgresSettings,
  options: PostgresStoreOptions = {},
): Promise<Store> {
  const { clock = systemClock, monotonic = () => performance.now(), readonly = false, onProblem = () => {} } = options;
  const place = placeOf(settings);
  const connections = new PostgresConnections(settings);
  try {
    await connections.open();
    const mode = readonly || settings.migrate === 'manual' ? 'check' : 'migrate';
    await migrate(connections, { place, now: clock.now(), mode });
    const uses = usesOf(settings);
    const reads = new PostgresQueries(connections, uses.reads).db;
    await checkTables(reads, place);
    if (await isMarked(reads)) throw partialCopy(place);
    const listener = settings.listen && !readonly ? listen({ connections, onProblem }) : undefined;
    return new KyselyStore(
      new PostgresStoreDatabase({ connections, uses, readonly, clock, monotonic, listener }),
      clock,
    );
  } catch (error) {
    await connections.close();
    throw refusalOf(error, `\`${place}\``);
  }
}

/** Place for messages: names no user and no password. */
export function placeOf({ hosts, database }: PostgresSettings): string {
  return `${hosts.join(',')}/${database}`;
}
