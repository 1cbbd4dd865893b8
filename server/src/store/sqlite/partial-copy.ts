import type Database from 'better-sqlite3';
import { markTable } from '../copy/copy-mark.ts';

/** True if the store holds the mark of a copy that is not complete. */
export function isMarked(database: Database.Database): boolean {
  return database.prepare('select 1 from sqlite_schema where name = ?').get(markTable) !== undefined;
}
