import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Schema } from '../database-schema.ts';
import { readPages } from './pages.ts';
import type { TableShape } from './table-shape.ts';

interface TableDigest {
  readonly table: string;
  readonly rows: number;
  readonly digest: string;
}

/** Digest of the rows of a store, the same in every kind of database. */
export interface RowDigest {
  readonly digest: string;
  readonly rows: number;
  readonly tables: readonly TableDigest[];
}

/**
 * SHA-256 over every row of every table: a line of JSON for each, with its values in the order of the names of their columns, by primary key
 * in the order of bytes. The same for two stores exactly when they hold the same rows. Needs memory for one page. `onRows` is told after each page
 * how many rows there were.
 */
export async function digestRows(
  db: Kysely<Schema>,
  shapes: readonly TableShape[],
  onRows: (rows: number) => void = () => undefined,
): Promise<RowDigest> {
  const tables: TableDigest[] = [];
  let before = 0;
  for (const shape of shapes) {
    const table = await digestTable(db, shape, (rows) => onRows(before + rows));
    before += table.rows;
    tables.push(table);
  }
  const hash = createHash('sha256');
  for (const table of tables) hash.update(`${JSON.stringify([table.table, table.rows, table.digest])}\n`);
  return { digest: hash.digest('hex'), rows: tables.reduce((sum, { rows }) => sum + rows, 0), tables };
}

async function digestTable(
  db: Kysely<Schema>,
  shape: TableShape,
  onRows: (rows: number) => void,
): Promise<TableDigest> {
  const names = shape.columns.map(({ name }) => name);
  const hash = createHash('sha256').update(`${JSON.stringify(names)}\n`);
  let count = 0;
  for await (const rows of readPages(db, shape)) {
    for (const row of rows) hash.update(`${JSON.stringify(names.map((name) => row[name] ?? null))}\n`);
    count += rows.length;
    onRows(count);
  }
  return { table: shape.name, rows: count, digest: hash.digest('hex') };
}

/** The first table that two stores do not have the same rows in. */
export function firstDifference(one: RowDigest, other: RowDigest): string | undefined {
  return one.tables.find(({ digest }, at) => digest !== other.tables[at]?.digest)?.table;
}
