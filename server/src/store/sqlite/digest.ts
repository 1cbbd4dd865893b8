import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { z } from 'zod';

const tableRows = z.array(z.object({ name: z.string() }));

/** Table of a backup's seal; excluded from its digest. */
export const sealTable = 'backup_seal';

/**
 * SHA-256, in hex, over the definition of every table, index, view and trigger and over every row of every table, whatever their order
 * in the file. A backup and its store have the same. The rows of a table follow in the order of its primary key, which one at a time
 * can be read in: to sort whole rows would keep the largest of them in memory together.
 */
export function digestOfStore(database: Database.Database): string {
  return digestInOrder(database, 'signet store 2\n', (key, columns) => (key === '' ? columns : `${key}, ${columns}`));
}

/** Former version of `digestOfStore`, for backups that were sealed then: the rows of a table in the order of their columns. */
export function earlierDigestOfStore(database: Database.Database): string {
  return digestInOrder(database, '', (_key, columns) => columns);
}

/** `order` answers by which columns the rows of a table are sorted, for those of its key and for all, in the order of their names. */
function digestInOrder(
  database: Database.Database,
  form: string,
  order: (key: string, columns: string) => string,
): string {
  const hash = createHash('sha256').update(form);
  const definitions = database.prepare(
    'select type, name, tbl_name, sql from sqlite_schema where tbl_name <> ? order by type, name, tbl_name, sql',
  );
  for (const row of definitions.raw().iterate(sealTable)) hash.update(encoded(row));
  const tables = database.prepare("select name from sqlite_schema where type = 'table' and name <> ? order by name");
  for (const { name } of tableRows.parse(tables.all(sealTable))) {
    hash.update(JSON.stringify([[name]]));
    const listOf = (text: string) => `${tableRows.parse(database.prepare(text).all(name)).map(quotedName)}`;
    const columns = listOf('select name from pragma_table_xinfo(?) order by name');
    const key = listOf('select name from pragma_table_xinfo(?) where pk > 0 order by pk');
    const rows = database
      .prepare(`select ${columns} from ${quoted(name)} order by ${order(key, columns)}`)
      .raw()
      .safeIntegers();
    for (const row of rows.iterate()) hash.update(encoded(row));
  }
  return hash.digest('hex');
}

function quotedName({ name }: { readonly name: string }): string {
  return quoted(name);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Unambiguous text of a list of values: a number differs from the text of its digits, and no integer is rounded. */
function encoded(row: unknown): string {
  return JSON.stringify(z.array(z.unknown()).parse(row).map(encodedValue));
}

function encodedValue(value: unknown): string | null {
  if (value === null) return null;
  if (Buffer.isBuffer(value)) return `b${value.toString('hex')}`;
  const kind = typeof value === 'bigint' ? 'i' : typeof value === 'number' ? 'r' : 's';
  return `${kind}${String(value)}`;
}
