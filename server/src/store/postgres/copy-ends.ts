import { systemClock } from '@signet/policy-engine/clock';
import { Kysely, sql } from 'kysely';
import type { PostgresSettings } from '../../config/store-place.ts';
import { ConflictError } from '../../errors.ts';
import type { CopyEnd, CopyTarget } from '../copy/copy-end.ts';
import { partialCopy } from '../copy/copy-mark.ts';
import type { Schema } from '../database-schema.ts';
import { commandName, PostgresConnections, serverName } from './connections.ts';
import { SignetPostgresDialect } from './dialect.ts';
import { checkTables, migrate } from './migrate.ts';
import { placeOf } from './open-postgres.ts';
import { isMarked } from './partial-copy.ts';
import { refusalOf, translateError } from './postgres-errors.ts';
import { usesOf } from './uses.ts';

/** A database to copy. Unless others may use it meanwhile, throws `ConflictError` when servers are connected to it. */
export function openPostgresSource(settings: PostgresSettings, others: 'locked-out' | 'allowed'): Promise<CopyEnd> {
  return openEnd(settings, { mode: 'check', others, marked: 'refused' });
}

/** A database to copy into, with the schema of this program, made where there is none. Throws `ConflictError` when servers are connected to it. */
export function openPostgresTarget(settings: PostgresSettings): Promise<CopyTarget> {
  return openEnd(settings, { mode: 'migrate', others: 'locked-out', marked: 'allowed' });
}

interface EndOptions {
  readonly mode: 'migrate' | 'check';
  readonly others: 'locked-out' | 'allowed';
  readonly marked: 'refused' | 'allowed';
}

async function openEnd(settings: PostgresSettings, { mode, others, marked }: EndOptions): Promise<CopyTarget> {
  const place = placeOf(settings);
  const connections = new PostgresConnections(settings, commandName);
  try {
    await connections.open();
    const uses = usesOf(settings);
    const opened = (use: keyof typeof uses) =>
      new Kysely<Schema>({ dialect: new SignetPostgresDialect(connections, uses[use]) });
    const reads = opened('reads');
    if (others === 'locked-out') await refuseServers(reads, place);
    await migrate(connections, { place, now: systemClock.now(), mode });
    await checkTables(reads, place);
    if (marked === 'refused' && (await isMarked(reads))) throw partialCopy(place);
    const [snapshots, fills] = [opened('snapshots'), opened('fills')];
    return {
      place,
      snapshot: (work) => translated(snapshots.transaction().execute(work)),
      change: (work) => translated(fills.transaction().execute(work)),
      isMarked,
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
