import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import { StoreRefusedError } from '../../errors.ts';
import type { Schema } from '../database-schema.ts';
import type { Key } from './pages.ts';

/** The table that a store has as long as it is a partial copy. No migration makes it: programs that do not know it refuse the store. */
export const markTable = 'copy_mark';

/** Progress of a copy. */
export interface CopyMark {
  /** Identity of the source store, whatever has changed in it since. */
  readonly source: string;
  /** Digest of the rows of the source as they are copied. */
  readonly digest: string;
  /** The table and key of the last row that was copied; absent before the first. */
  readonly last?: { readonly table: string; readonly key: Key };
}

const markRow = z.object({ source: z.string(), digest: z.string(), last: z.string().nullable() });
const lastRow = z.object({ table: z.string(), key: z.array(z.union([z.string(), z.int()])) });

export async function createMark(db: Kysely<Schema>, mark: CopyMark): Promise<void> {
  await sql`create table ${sql.table(markTable)} (source text not null, digest text not null, last text)`.execute(db);
  await sql`insert into ${sql.table(markTable)} values (${mark.source}, ${mark.digest}, null)`.execute(db);
}

/** Writes the mark of a copy that has not begun: nothing of its source is there. First write into a new target, before its tables. */
export async function markBeforeTables(db: Kysely<Schema>): Promise<void> {
  await createMark(db, { source: '', digest: '' });
}

export function hasBegun({ source }: CopyMark): boolean {
  return source !== '';
}

export async function readMark(db: Kysely<Schema>): Promise<CopyMark> {
  const { rows } = await sql`select source, digest, last from ${sql.table(markTable)}`.execute(db);
  const { last, ...mark } = markRow.parse(rows[0]);
  return { ...mark, ...(last !== null && { last: lastRow.parse(JSON.parse(last)) }) };
}

export async function updateMark(db: Kysely<Schema>, { source, digest, last }: CopyMark): Promise<void> {
  const text = last === undefined ? null : JSON.stringify(last);
  await sql`update ${sql.table(markTable)} set source = ${source}, digest = ${digest}, last = ${text}`.execute(db);
}

export async function removeMark(db: Kysely<Schema>): Promise<void> {
  await sql`drop table ${sql.table(markTable)}`.execute(db);
}

/** Error for a partial copy, which is not opened as a store. */
export function partialCopy(place: string): StoreRefusedError {
  const help = 'finish it with `signet store copy --resume`, or remove it';
  return new StoreRefusedError('partial-copy', `store \`${place}\` is a partial copy of another one: ${help}`);
}
