import type Database from 'better-sqlite3';
import { z } from 'zod';
import { digestOfRows, sealTable } from './digest.ts';

const sealRow = z.object({ digest: z.string() });

/** Writes the digest over every row into the copy itself, so that a restore sees when something of it was changed. Answers the digest. */
export function sealBackup(database: Database.Database): string {
  breakSeal(database);
  const digest = digestOfRows(database);
  database.exec(`create table ${sealTable} (digest text not null)`);
  database.prepare(`insert into ${sealTable} values (?)`).run(digest);
  return digest;
}

/** Whether the rows are those that were sealed; a store that never was a backup has no seal, and none to break. */
export function isSealWhole(database: Database.Database, digest: string): boolean {
  if (!hasSeal(database)) return true;
  const row = sealRow.safeParse(database.prepare(`select digest from ${sealTable}`).get());
  return row.success && row.data.digest === digest;
}

/** For a backup that is changed from now on: a copy of a backup that became a store. */
export function breakSeal(database: Database.Database): void {
  if (hasSeal(database)) database.exec(`drop table ${sealTable}`);
}

function hasSeal(database: Database.Database): boolean {
  const found = database.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(sealTable);
  return found !== undefined;
}
