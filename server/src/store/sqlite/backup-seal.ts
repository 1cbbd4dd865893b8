import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { digestOfStore, earlierDigestOfStore, sealTable } from './digest.ts';

const sealRow = z.object({ digest: z.string(), key_id: z.string(), mac: z.string() });

/** The tables that a seal may be in: that of this program, and that of programs whose seals had no key. */
export const sealTableDefinitions = [
  `CREATE TABLE ${sealTable} (digest text not null, key_id text not null, mac text not null)`,
  `CREATE TABLE ${sealTable} (digest text not null)`,
] as const;

/**
 * State of a store's seal: `valid` under the key given, `other-key` with a digest that fits, `broken` when the store was changed since, or the
 * seal was made without the key that it names. `none` is a store that is not a backup, or whose seal has no key.
 */
export type SealState = 'valid' | 'other-key' | 'broken' | 'none';

/** Writes the digest into the copy itself, with its code under the key, so that a restore knows what it came from. Answers the digest. */
export function sealBackup(database: Database.Database, key: Buffer): string {
  breakSeal(database);
  const digest = digestOfStore(database);
  database.exec(sealTableDefinitions[0]);
  const values = [digest, keyIdOf(key), macOf(key, digest).toString('hex')];
  database.prepare(`insert into ${sealTable} values (?, ?, ?)`).run(values);
  return digest;
}

/** Compares the seal with the digest of the present contents, in the form of the seal where the two agree. */
export function readSeal(
  database: Database.Database,
  key: Buffer | undefined,
): { readonly state: SealState; readonly digest: string } {
  const now = digestOfStore(database);
  const row = hasSeal(database) ? sealRow.safeParse(database.prepare(`select * from ${sealTable}`).get()) : undefined;
  if (row?.success !== true) return { state: 'none', digest: now };
  const { digest, key_id, mac } = row.data;
  if (digest !== now && digest !== earlierDigestOfStore(database)) return { state: 'broken', digest: now };
  if (key === undefined || key_id !== keyIdOf(key)) return { state: 'other-key', digest };
  const [given, expected] = [Buffer.from(mac, 'hex'), macOf(key, digest)];
  const isWhole = given.length === expected.length && timingSafeEqual(given, expected);
  return { state: isWhole ? 'valid' : 'broken', digest };
}

/** True if this is the digest of the present contents, in either form; `known` is one of them, as each reads all rows. */
export function hasDigest(database: Database.Database, digest: string, known: string): boolean {
  if (isSame(digest, known)) return true;
  return isSame(digest, digestOfStore(database)) || isSame(digest, earlierDigestOfStore(database));
}

/** Compares two digests in a time that tells nothing of them. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one.toLowerCase()), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Invalidates the seal of a backup that is changed from now on: a copy of a backup that became a store. */
export function breakSeal(database: Database.Database): void {
  if (hasSeal(database)) database.exec(`drop table ${sealTable}`);
}

export function hasSeal(database: Database.Database): boolean {
  const found = database.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(sealTable);
  return found !== undefined;
}

/** Id of a key that reveals nothing of it. */
function keyIdOf(key: Buffer): string {
  return createHash('sha256').update('signet backup seal key\0').update(key).digest('hex').slice(0, 16);
}

function macOf(key: Buffer, digest: string): Buffer {
  return createHmac('sha256', key).update(`signet backup seal\0${digest}`).digest();
}
