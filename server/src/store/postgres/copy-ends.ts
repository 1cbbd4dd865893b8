import { systemClock } from '@signet/policy-engine/clock';
import { type Kysely, sql } from 'kysely';
import type { PostgresSettings } from '../../config/store-place.ts';
import { ConflictError } from '../../errors.ts';
import type { CopyTarget } from '../copy/copy-end.ts';
import { partialCopy } from '../copy/copy-mark.ts';
import type { Schema } from '../database-schema.ts';
import { refuseOtherSteps } from '../known-steps.ts';
import { commandName, PostgresConnections, serverName } from './connections.ts';
import { appliedSteps, checkTables, type MigrateOptions, migrate } from './migrate.ts';
import { placeOf } from './open-postgres.ts';
import { isMarked } from './partial-copy.ts';
import { refusalOf, translateError } from './postgres-errors.ts';
import { PostgresQueries } from './postgres-queries.ts';
import { usesOf } from './uses.ts';

/** A database to copy. Unless others may use it meanwhile, throws `ConflictError` when servers are connected to it. */
export function openPostgresSource(
  settings: PostgresSettings,
  others: EndOptions['others'],
  schema: EndOptions['schema'] = 'exact',
): Promise<PostgresEnd> {
  return openEnd(settings, { mode: 'check', others, marked: 'refused', schema });
}

/**
 * Target database of a copy, with the schema of this program, created if absent, in one transaction with the writes of `beforeTables`. Throws
 * `ConflictError` when servers are connected to it.
 */
export function openPostgresTarget(
  settings: PostgresSettings,
  beforeTables?: MigrateOptions['beforeTables'],
): Promise<CopyTarget> {
  return openEnd(settings, { mode: 'migrate', others: 'locked-out', marked: 'allowed', schema: 'exact', beforeTables });
}

interface EndOptions extends Pick<MigrateOptions, 'beforeTables'> {
  readonly mode: 'migrate' | 'check';
  readonly others: 'locked-out' | 'allowed';
  readonly marked: 'refused' | 'allowed';
  /** Required schema: columns of a newer program would not be copied by this one, while servers can work beside it. */
  readonly schema: 'exact' | 'newer-is-fine';
}

interface PostgresEnd extends CopyTarget {
  /** The primary, as configured. */
  readonly host: string;
}

async function openEnd(settings: PostgresSettings, options: EndOptions): Promise<PostgresEnd> {
  const { mode, others, marked, schema, beforeTables } = options;
  const place = placeOf(settings);
  const connections = new PostgresConnections(settings, commandName);
  try {
    await connections.open();
    const uses = usesOf(settings);
    const reads = new PostgresQueries(connections, uses.reads).db;
    if (others === 'locked-out') await refuseServers(reads, place);
    await migrate(connections, { place, now: systemClock.now(), mode, beforeTables });
    await checkTables(reads, place);
    if (schema === 'exact') refuseOtherSteps(await appliedSteps(reads), place);
    if (marked === 'refused' && (await isMarked(reads))) throw partialCopy(place);
    const snapshots = new PostgresQueries(connections, uses.snapshots);
    const fills = new PostgresQueries(connections, uses.fills);
    return {
      place,
      host: connections.host() ?? '',
      snapshot: (work) => translated(snapshots.transact(work)),
      change: (work) => translated(fills.transact(work)),
      isMarked,
      ...(others === 'locked-out' && { requireUnused: () => translated(refuseServers(reads, place)) }),
      close: () => connections.close(),
    };
  } catch (error) {
    await connections.close();
    throw refusalOf(error, `\`${place}\``);
  }
}

async function translated<Result>(running: Promise<Result>): Promise<Result> {
  try {
    return await running;
  } catch (error) {
    throw translateError(error);
  }
}

/** Servers give their connections a name, which every user of the database can read. */
async function refuseServers(db: Kysely<Schema>, place: string): Promise<void> {
  const { rows } = await sql<{ sessions: number }>`select count(*) as sessions from pg_stat_activity
    where datname = current_database() and application_name = ${serverName}`.execute(db);
  const sessions = rows[0]?.sessions ?? 0;
  if (sessions === 0) return;
  throw new ConflictError(
    `store \`${place}\` is in use: servers hold ${sessions} connections (\`signet store status\`): stop them first`,
  );
}

/** Applied steps of a database, in order; also where its schema is unusable for this program. */
export async function appliedPostgresSteps(settings: PostgresSettings): Promise<readonly string[]> {
  const connections = new PostgresConnections(settings, commandName);
  try {
    await connections.open();
    const { reads } = usesOf(settings);
    return await appliedSteps(new PostgresQueries(connections, reads).db);
  } catch (error) {
    throw refusalOf(error, `\`${placeOf(settings)}\``);
  } finally {
    await connections.close();
  }
}
