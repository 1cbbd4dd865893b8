import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { z } from 'zod';

const tableRows = z.array(z.object({ name: z.string() }));

/** Holds the seal of a backup; no part of what its digest is over. */
export const sealTable = 'backup_seal';

/**
 * SHA-256, in hex, over the definition of every table, index, view and trigger and over every row of every table, whatever their order
 * in the file. A backup and its store have the same.
 */
export function digestOfStore(database: Database.Database): string {
  const hash = createHash('sha256');
  const definitions = database.prepare(
    'select type, name, tbl_name, sql from sqlite_schema where tbl_name <> ? order by type, name, tbl_name, sql',
  );
  for (const row of definitions.raw().iterate(sealTable)) hash.update(encoded(row));
  const tables = database.prepare("select name from sqlite_schema where type = 'table' and name <> ? order by name");
  for (const { name } of tableRows.parse(tables.all(sealTable))) {
    hash.update(JSON.stringify([[name]]));
    const info = database.prepare('select name from pragma_table_xinfo(?) order by name').all(name);
    const list = tableRows.parse(info).map((column) => quoted(column.name));
    const rows = database
      .prepare(`select ${list} from ${quoted(name)} order by ${list}`)
      .raw()
      .safeIntegers();
    for (const row of rows.iterate()) hash.update(encoded(row));
  }
  return hash.digest('hex');
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** One text for each list of values: a number is not the text of its digits, and no integer is rounded. */
function encoded(row: unknown): string {
  return JSON.stringify(z.array(z.unknown()).parse(row).map(encodedValue));
}

function encodedValue(value: unknown): string | null {
  if (value === null) return null;
  if (Buffer.isBuffer(value)) return `b${value.toString('hex')}`;
  const kind = typeof value === 'bigint' ? 'i' : typeof value === 'number' ? 'r' : 's';
  return `${kind}${String(value)}`;
}
