import type Database from 'better-sqlite3';
import { z } from 'zod';

const columnRows = z.array(z.object({ name: z.string(), type: z.string(), notnull: z.int(), pk: z.int() }));
const referenceRows = z.array(z.object({ from: z.string() }));

/** Text that other databases order, fold or cut differently: by case, by accents, beyond 16 bits, without width, from right to left. */
export const oddTexts = [
  'a-b',
  'a_b',
  'a.b',
  'ab',
  'AB',
  'Ab',
  'é',
  'e\u0301',
  'ß',
  'ss',
  'ı',
  'İ',
  '\u{1f511}',
  '\uffff',
  '\ue000',
  '\u200b',
  '\u202e',
  '\u0001',
  ' ',
  ' x ',
  "'",
  '"',
  '\\',
  '%',
  '\n',
  '\r\n',
  '\t',
  '日本',
  '\u{10ffff}',
  'zz',
];
export const oddNumbers = [0, 1, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 2 ** 31, -(2 ** 31) - 1];

interface Column extends z.infer<typeof columnRows.element> {
  readonly table: string;
  /** True if its value is the key of a row of another table. */
  readonly refers: boolean;
}

/**
 * Fills every table of an empty store with rows that have a value in each column, and with rows that have none where none is needed. What the rows mean
 * does not matter, only that they are told apart.
 */
export function fillEveryTable(database: Database.Database, tables: readonly string[], rows = oddTexts.length): void {
  database.pragma('foreign_keys = ON');
  database.exec('delete from meta');
  for (const table of tables) {
    const columns = columnsOf(database, table);
    const names = columns.map(({ name }) => `"${name}"`).join(', ');
    const insert = database.prepare(`insert into ${table} (${names}) values (${columns.map(() => '?').join(', ')})`);
    for (let at = 0; at < (table === 'meta' ? 1 : rows); at += 1) {
      insert.run(
        columns.map((column, index) => (table === 'meta' && column.name === 'id' ? 1 : valueIn(column, at, index))),
      );
    }
  }
}

function columnsOf(database: Database.Database, table: string): Column[] {
  const info = database.prepare('select name, lower(type) as type, "notnull", pk from pragma_table_info(?)').all(table);
  const references = database.prepare('select "from" from pragma_foreign_key_list(?)').all(table);
  const referring = referenceRows.parse(references).map(({ from }) => from);
  return columnRows.parse(info).map((column) => ({ ...column, table, refers: referring.includes(column.name) }));
}

function valueIn(column: Column, at: number, index: number): string | number | null {
  const { name, type, notnull, pk } = column;
  const mustDiffer = pk > 0 || name === 'position' || name === 'revocation_sequence';
  if (notnull === 0 && !mustDiffer && (at + index) % 3 === 0) return null;
  if (type === 'text') return textIn(column, at);
  if (mustDiffer) return type === 'integer' ? at : spreadNumber(at);
  // PostgreSQL keeps 32 bits in these.
  return type === 'integer' ? at % 2 : (oddNumbers[(at + index) % oddNumbers.length] ?? 0);
}

function spreadNumber(at: number): number {
  return at % 2 === 0 ? at : Number.MAX_SAFE_INTEGER - at;
}

function textIn({ table, name, refers, pk }: Column, at: number): string {
  if (table === 'members' && name === 'kind') return at % 2 === 0 ? 'role' : 'group';
  const text = `${oddTexts[at % oddTexts.length]}${at < oddTexts.length ? '' : at}`;
  return refers || pk > 0 ? text : `${text}${name}`;
}
