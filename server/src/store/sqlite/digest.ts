import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { z } from 'zod';

const tableRows = z.array(z.object({ name: z.string() }));

/** Holds the digest of a backup; no part of what the digest is over. */
export const sealTable = 'backup_seal';

/** What a restore changes by itself, and when a migration ran: neither is content. */
const leftOut: Readonly<Record<string, readonly string[]>> = {
  meta: ['epoch'],
  kysely_migration: ['timestamp'],
};

/** SHA-256, in hex, over every row of every table, whatever their order in the file. A backup and its store have the same. */
export function digestOfRows(database: Database.Database): string {
  const hash = createHash('sha256');
  const found = database.prepare(
    "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' and name <> ? order by name",
  );
  for (const { name } of tableRows.parse(found.all(sealTable))) {
    const info = tableRows.parse(database.prepare(`select name from pragma_table_info('${name}') order by name`).all());
    const columns = info.map((column) => column.name).filter((column) => !leftOut[name]?.includes(column));
    const list = columns.map((column) => `"${column}"`).join(', ');
    hash.update(JSON.stringify([name, columns]));
    for (const row of database.prepare(`select ${list} from "${name}" order by ${list}`).raw().iterate()) {
      hash.update(JSON.stringify(row));
    }
  }
  return hash.digest('hex');
}
