import { type Kysely, type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { StoreRefusedError } from '../../errors.ts';
import { fitting, lengthOfSides } from '../audit-lengths.ts';
import type { Schema } from '../database-schema.ts';
import type { Row, TableShape, Value } from './table-shape.ts';

/** Upper bound of the rows of a page, which has fewer when they are large, so that memory stays bounded. */
const maxPageRows = 2000;
const firstPageRows = 100;
const largePageCharacters = 4_000_000;
/** Parameters of one statement; SQLite takes 32,766, PostgreSQL 65,535. */
const maxParameters = 32_000;

/** Position for reading on: after the row with this key. */
export type Key = readonly Value[];

const textValue = z.string().nullable();
const numberValue = z.int().nullable();

/** The rows of a table after a key, by primary key in the order of bytes, page after page. */
export async function* readPages(db: Kysely<Schema>, table: TableShape, after?: Key): AsyncGenerator<readonly Row[]> {
  let limit = firstPageRows;
  for (let last = after; ; ) {
    const most = table.name === 'audit' ? await recordsThatFit(db, last, limit) : limit;
    const rows = (await pageOf(table, last, most).execute(db)).rows.map((row) => checked(table, row));
    const end = rows.at(-1);
    if (end === undefined) return;
    yield rows;
    if (rows.length < most) return;
    last = keyOf(table, end);
    limit = charactersIn(rows) > largePageCharacters ? Math.max(1, limit >> 2) : Math.min(maxPageRows, limit * 2);
  }
}

/** The one table whose rows may have megabytes, a hundred small ones before them: their lengths are looked at first. */
async function recordsThatFit(db: Kysely<Schema>, after: Key | undefined, limit: number): Promise<number> {
  const records = db.selectFrom('audit').select(lengthOfSides).orderBy('id').limit(limit);
  const looked = await (after === undefined ? records : records.where('id', '>', Number(after[0]))).execute();
  return fitting(
    looked.map(({ length }) => length),
    largePageCharacters,
  );
}

export function keyOf({ key }: TableShape, row: Row): Key {
  return key.map((name) => row[name] ?? null);
}

function pageOf({ name, columns, key }: TableShape, after: Key | undefined, limit: number): RawBuilder<Row> {
  const list = sql.join(columns.map((column) => sql.ref(column.name)));
  const order = sql.join(key.map((column) => sql.ref(column)));
  const where = after === undefined ? sql`` : sql`where (${order}) > (${sql.join([...after])})`;
  return sql<Row>`select ${list} from ${sql.table(name)} ${where} order by ${order} limit ${sql.lit(limit)}`;
}

/** Checks types, as SQLite accepts any value in a column. Throws `StoreRefusedError` for values that another database would reject. */
function checked(table: TableShape, row: Row): Row {
  for (const { name, type } of table.columns) {
    const value: unknown = row[name];
    if ((type === 'text' ? textValue : numberValue).safeParse(value).success) continue;
    throw invalidRow(table, row, `column \`${name}\` does not hold ${type === 'text' ? 'text' : 'an integer'}`);
  }
  return row;
}

function invalidRow(table: TableShape, row: Row, what: string): StoreRefusedError {
  const key = JSON.stringify(keyOf(table, row), (_, value) => (typeof value === 'bigint' ? String(value) : value));
  return new StoreRefusedError('corrupt', `table \`${table.name}\`, row \`${key}\`: ${what}`);
}

function charactersIn(rows: readonly Row[]): number {
  let sum = 0;
  for (const row of rows) for (const value of Object.values(row)) sum += typeof value === 'string' ? value.length : 8;
  return sum;
}

/** Inserts rows that must not be there yet. Throws `StoreRefusedError` for one that holds what PostgreSQL cannot keep. */
export async function insertRows(db: Kysely<Schema>, table: TableShape, rows: readonly Row[]): Promise<void> {
  for (const row of rows) {
    for (const { name } of table.columns) {
      const value = row[name];
      if (typeof value === 'string' && value.includes('\0'))
        throw invalidRow(table, row, `column \`${name}\` holds a NUL character`);
    }
  }
  const { name, columns } = table;
  const list = sql.join(columns.map((column) => sql.ref(column.name)));
  const each = Math.floor(maxParameters / columns.length);
  for (let at = 0; at < rows.length; at += each) {
    const part = rows.slice(at, at + each);
    const values = part.map((row) => sql`(${sql.join(columns.map((column) => row[column.name] ?? null))})`);
    await sql`insert into ${sql.table(name)} (${list}) values ${sql.join(values)}`.execute(db);
  }
}
