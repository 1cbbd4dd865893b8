import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { TableShape } from '../copy/table-shape.ts';
import { tableNames } from '../database-schema.ts';
import { emptyStore } from './empty-store.ts';

const columnRows = z.array(
  z.object({ name: z.string(), type: z.enum(['text', 'integer', 'bigint']), pk: z.int().nonnegative() }),
);

let shapes: Promise<readonly TableShape[]> | undefined;

/**
 * The tables that the migrations of this program make, each with its columns, in an order in which each row comes after those that it refers to;
 * `meta` comes last. Throws when the migrations make a table that `tableNames` does not name.
 */
export function tableShapes(): Promise<readonly TableShape[]> {
  shapes ??= readShapes();
  return shapes;
}

async function readShapes(): Promise<readonly TableShape[]> {
  const database = await emptyStore();
  try {
    const made = database.prepare("select name from sqlite_schema where type = 'table' and name not like 'kysely_%'");
    const unknown = made
      .pluck()
      .all()
      .filter((name) => !(tableNames as readonly unknown[]).includes(name));
    if (unknown.length > 0) throw new Error(`tables without a place in \`tableNames\`: ${unknown.join(', ')}`);
    const last = tableNames.filter((name) => name === 'meta');
    return [...tableNames.filter((name) => name !== 'meta'), ...last].map((name) => shapeOf(database, name));
  } finally {
    database.close();
  }
}

function shapeOf(database: Database.Database, name: string): TableShape {
  const rows = columnRows.parse(
    database.prepare('select name, lower(type) as type, pk from pragma_table_info(?) order by name').all(name),
  );
  const key = rows.filter(({ pk }) => pk > 0).toSorted((one, other) => one.pk - other.pk);
  if (key.length === 0) throw new Error(`table ${name} has no primary key`);
  return {
    name,
    columns: rows.map((row) => ({ name: row.name, type: row.type === 'text' ? 'text' : 'number' })),
    key: key.map((row) => row.name),
  };
}
