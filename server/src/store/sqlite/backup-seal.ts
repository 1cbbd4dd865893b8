import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { digestOfStore, sealTable } from './digest.ts';

const sealRow = z.object({ digest: z.string(), key_id: z.string(), mac: z.string() });

/** The tables that a seal may be in: that of this program, and that of programs whose seals had no key. */
export const sealTableDefinitions = [
  `CREATE TABLE ${sealTable} (digest text not null, key_id text not null, mac text not null)`,
  `CREATE TABLE ${sealTable} (digest text not null)`,
] as const;

/**
 * What the seal of a store says: `valid` under the key given, `other-key` with a digest that fits, `broken` when the store was changed since,
 * or the seal was made by somebody without the key that it names. `none` is a store that is not a backup, or whose seal has no key.
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

/** Compares the seal with the digest of what is there now. */
export function sealStateOf(database: Database.Database, digest: string, key: Buffer | undefined): SealState {
  if (!hasSeal(database)) return 'none';
  const row = sealRow.safeParse(database.prepare(`select * from ${sealTable}`).get());
  if (!row.success) return 'none';
  if (row.data.digest !== digest) return 'broken';
  if (key === undefined || row.data.key_id !== keyIdOf(key)) return 'other-key';
  const mac = Buffer.from(row.data.mac, 'hex');
  const expected = macOf(key, digest);
  return mac.length === expected.length && timingSafeEqual(mac, expected) ? 'valid' : 'broken';
}

/** Compares two digests in a time that tells nothing of them. */
export function isSameDigest(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one.toLowerCase()), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** For a backup that is changed from now on: a copy of a backup that became a store. */
export function breakSeal(database: Database.Database): void {
  if (hasSeal(database)) database.exec(`drop table ${sealTable}`);
}

export function hasSeal(database: Database.Database): boolean {
  const found = database.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(sealTable);
  return found !== undefined;
}

/** Names a key without telling anything of it. */
function keyIdOf(key: Buffer): string {
  return createHash('sha256').update('signet backup seal key\0').update(key).digest('hex').slice(0, 16);
}

function macOf(key: Buffer, digest: string): Buffer {
  return createHmac('sha256', key).update(`signet backup seal\0${digest}`).digest();
}
