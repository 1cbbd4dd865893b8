import { lstatSync, readdirSync, rmSync, type Stats } from 'node:fs';
import { join } from 'node:path';

/*
 * Leftovers of restores in the data folder: stores that were replaced, which are kept on purpose, and copies and temporary files of a process
 * that was killed. Only files with exactly those names count; all others may belong to another program.
 */

/** `replaced`: a store of before a restore. `unfinished`: what a killed restore or rotation has not removed. */
type LeftoverKind = 'replaced' | 'unfinished';

/** File that no program needs to run. */
export interface Leftover {
  /** Path of the file. */
  readonly file: string;
  readonly kind: LeftoverKind;
  readonly bytes: number;
  /** Time of its last renaming or write, whichever is later; milliseconds since the epoch. */
  readonly since: number;
}

const logs = '(-wal|-shm|-journal)?';

/** Names by folder below the data folder. Where the store is a database, a restore merges in `postgres-restore.db` (`backups.ts`). */
const names: readonly (readonly [folder: string, kind: LeftoverKind, name: RegExp])[] = [
  ['', 'replaced', new RegExp(`^(signet|postgres-restore)\\.db\\.replaced-\\d{1,10}(\\.\\d{1,6})?${logs}$`)],
  ['', 'unfinished', new RegExp(`^(signet|postgres-restore)\\.db\\.restore-\\d{1,10}${logs}$`)],
  ['', 'unfinished', new RegExp(`^postgres-restore\\.db(\\.witness)?${logs}$`)],
  ['keys', 'unfinished', /^\.([\w-]{43}\.pem|backup-seal\.key)\.[0-9a-f]{16}\.tmp$/],
];

/** Leftovers in the data folder, the oldest first. The present store is not one, also under a second name that a killed restore gave it. */
export function findLeftovers(dataDir: string): readonly Leftover[] {
  const store = statsOf(join(dataDir, 'signet.db'));
  const found = names.flatMap(([folder, kind, pattern]) =>
    namesIn(join(dataDir, folder))
      .filter((name) => pattern.test(name))
      .flatMap((name) => {
        const file = join(dataDir, folder, name);
        const stats = statsOf(file);
        if (stats === undefined || !stats.isFile() || isSameFile(stats, store)) return [];
        return [{ file, kind, bytes: stats.size, since: Math.floor(Math.max(stats.mtimeMs, stats.ctimeMs)) }];
      }),
  );
  return found.sort((one, other) => one.since - other.since || (one.file < other.file ? -1 : 1));
}

/** Removes those that have been there since before `before` (milliseconds since the epoch), and answers them. */
export function removeLeftovers(dataDir: string, before: number): readonly Leftover[] {
  const old = findLeftovers(dataDir).filter(({ since }) => since < before);
  for (const { file } of old) rmSync(file, { force: true });
  return old;
}

function namesIn(folder: string): readonly string[] {
  // A link would lead to another folder.
  return statsOf(folder)?.isDirectory() === true ? readdirSync(folder) : [];
}

function statsOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function isSameFile(one: Stats, other: Stats | undefined): boolean {
  return one.dev === other?.dev && one.ino === other.ino;
}
