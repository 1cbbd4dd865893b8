import { statSync } from 'node:fs';
import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import type { StorePlace } from '../config/store-place.ts';
import { withEnd } from './copy-store.ts';
import { type Schema, tableNames } from './database-schema.ts';
import { openPostgresSource } from './postgres/copy-ends.ts';
import { type PostgresStatus, readPostgresStatus, readTableSizes, type TableSize } from './postgres/postgres-status.ts';
import { openSqliteSource } from './sqlite/copy-ends.ts';

/** Status of a store at this moment. Holds no secrets. */
export interface StoreStatus {
  readonly kind: StorePlace['kind'];
  /** Place, which names no user and no password. */
  readonly place: string;
  readonly schemaSteps: number;
  readonly newestStep: string;
  readonly epoch: number;
  readonly counter: number;
  /** Number of transactions, with SQLite. */
  readonly sequence: number;
  readonly auditHead: string;
  readonly sizeBytes: number;
  /** Number of rows by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Tables that are too large to be counted: their rows are what the database reckons. */
  readonly estimated: readonly string[];
  readonly postgres?: PostgresStatus;
}

/** Reads the status of a store, while servers run. Throws `StoreRefusedError` and `StoreUnavailableError`. */
export function readStoreStatus(store: StorePlace): Promise<StoreStatus> {
  if (store.kind === 'sqlite') {
    return withEnd(openSqliteSource(store.file, 'allowed'), ({ place, snapshot }) =>
      snapshot(async (db) => {
        const sizes = tableNames.map((table) => ({ table, isLarge: false, estimate: 0 }));
        const [state, counts] = [await readState(db), await countRows(db, sizes)];
        return { kind: 'sqlite', place, ...state, sizeBytes: sizeOf(store.file), ...counts };
      }),
    );
  }
  return withEnd(openPostgresSource(store, 'allowed', 'newer-is-fine'), ({ place, host, snapshot }) =>
    snapshot(async (db) => {
      const [state, counts] = [await readState(db), await countRows(db, await readTableSizes(db))];
      const { sizeBytes, ...postgres } = await readPostgresStatus(db, host);
      return { kind: 'postgres', place, ...state, sizeBytes, ...counts, postgres };
    }),
  );
}

const stepRows = z.array(z.object({ name: z.string() }));

async function readState(db: Kysely<Schema>) {
  const columns = ['epoch', 'counter', 'sequence', 'audit_head as auditHead'] as const;
  const meta = await db.selectFrom('meta').select(columns).where('id', '=', 1).executeTakeFirstOrThrow();
  const steps = stepRows.parse((await sql`select name from kysely_migration`.execute(db)).rows);
  const newestStep =
    steps
      .map(({ name }) => name)
      .toSorted()
      .at(-1) ?? '';
  return { schemaSteps: steps.length, newestStep, ...meta };
}

async function countRows(db: Kysely<Schema>, sizes: readonly TableSize[]) {
  const rows: Record<string, number> = {};
  for (const { table, isLarge, estimate } of sizes) rows[table] = isLarge ? estimate : await count(db, table);
  return { rows, estimated: sizes.filter(({ isLarge }) => isLarge).map(({ table }) => table) };
}

async function count(db: Kysely<Schema>, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db);
  return rows[0]?.count ?? 0;
}

function sizeOf(file: string): number {
  const parts = [file, `${file}-wal`].map((part) => statSync(part, { throwIfNoEntry: false })?.size ?? 0);
  return parts.reduce((sum, size) => sum + size, 0);
}
