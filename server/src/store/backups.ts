import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { lockFile } from '@signet/policy-engine/internal/files';
import type { PostgresSettings, StorePlace } from '../config/store-place.ts';
import { ConflictError } from '../errors.ts';
import { partialCopy } from './copy/copy-mark.ts';
import { type CopiedRows, isEmpty, replaceRows } from './copy/copy-rows.ts';
import { digestRows } from './copy/row-digest.ts';
import { copyStore, withEnd } from './copy-store.ts';
import { openPostgresTarget } from './postgres/copy-ends.ts';
import { backUpStore } from './sqlite/backup.ts';
import { checkStore, type StoreCheck } from './sqlite/check.ts';
import { openSqliteSource } from './sqlite/copy-ends.ts';
import { type Restored, type RestoreOptions, restoreStore } from './sqlite/restore.ts';
import { tableShapes } from './sqlite/table-shapes.ts';
import { writeError } from './sqlite/written-file.ts';

/*
 * Backups are files of SQLite, whatever the kind of the store. Those of a database go through a copy in a file, as of one instant, so that one
 * implementation makes, checks and restores them.
 */

/**
 * Copies the store as of one instant into a new file (mode 0600), while others use it, seals it under the key and answers its digest. Throws
 * `ConflictError` when the file exists, `StoreRefusedError`, `StoreUnavailableError`.
 */
export async function backUp(store: StorePlace, target: string, sealKey: Buffer): Promise<string> {
  if (store.kind === 'sqlite') return backUpStore(store.file, target, sealKey);
  if (existsSync(target)) throw new ConflictError(`\`${target}\` exists already`);
  return withFileCopy(store, dirname(target), (file) => backUpStore(file, target, sealKey));
}

/**
 * Checks every row of the store; see `checkStore`. Servers go on meanwhile. The digest of a database is the one over its rows, as a copy has it: that of a
 * file also covers how SQLite was made to hold them.
 */
export function check(store: StorePlace, sealKey?: Buffer): Promise<StoreCheck> {
  if (store.kind === 'sqlite') return checkStore(store.file, sealKey);
  return withFileCopy(store, tmpdir(), async (file, { digest }) => ({
    ...(await checkStore(file, sealKey)),
    digest,
  }));
}

/** Runs `work` on a copy that only this user can read, and removes it. */
async function withFileCopy<Result>(
  store: StorePlace,
  parent: string,
  work: (file: string, copied: CopiedRows) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(parent, '.signet-copy-'));
  try {
    const file = join(folder, 'signet.db');
    const copied = await copyStore(store, { kind: 'sqlite', file }, { resume: false, whileRunning: true });
    return await work(file, copied);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The merge of a backup and a database, in the data folder, until it is in the database. */
const mergeName = 'postgres-restore.db';

/**
 * Replaces the store by a backup, under a new epoch; see `restoreStore`. The former content of a database is kept in a file in `dataDir`. Throws
 * `ConflictError` while another restore works there: each would use and remove the files of the other. Throws `StoreUnavailableError` when the
 * folder cannot be written.
 */
export async function restore(
  store: StorePlace,
  backup: string,
  { dataDir, ...options }: RestoreOptions & { readonly dataDir: string },
): Promise<Restored> {
  await using _ = await lockForRestore(dataDir);
  if (store.kind === 'sqlite') return await restoreStore(store.file, backup, options);
  const file = join(dataDir, mergeName);
  removeStore(file);
  try {
    return await restoreDatabase(store, { file, backup }, options);
  } finally {
    removeStore(file);
  }
}

async function lockForRestore(dataDir: string): Promise<AsyncDisposable> {
  const lock = await takeLock(dataDir).catch((error: unknown) => {
    throw writeError(error, dataDir);
  });
  if (lock !== undefined) return lock;
  throw new ConflictError(`another restore is running in \`${dataDir}\`: wait until it has finished`);
}

async function takeLock(dataDir: string): Promise<AsyncDisposable | undefined> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  return await lockFile(join(dataDir, '.restore.lock'), { waitMs: 0 });
}

/** INVARIANT: the database is changed by one transaction, which makes sure that it holds what was merged: a restore is whole or has not been. */
function restoreDatabase(
  store: PostgresSettings,
  { file, backup }: { readonly file: string; readonly backup: string },
  options: RestoreOptions,
): Promise<Restored> {
  return withEnd(openPostgresTarget(store), async (target) => {
    const shapes = await tableShapes();
    const before = await target.snapshot(async (db) => {
      if (await target.isMarked(db)) throw partialCopy(target.place);
      return { isEmpty: await isEmpty(db, shapes), digest: (await digestRows(db, shapes)).digest };
    });
    if (!before.isEmpty)
      await copyStore({ kind: 'postgres', ...store }, { kind: 'sqlite', file }, { resume: false, whileRunning: true });
    const restored = await restoreStore(file, backup, options);
    try {
      await withEnd(openSqliteSource(file, 'locked-out'), (source) =>
        replaceRows(source, target, { shapes, expected: before.digest }),
      );
      return restored;
    } catch (error) {
      if (restored.replaced !== undefined) rmSync(restored.replaced, { force: true });
      throw error;
    }
  });
}

function removeStore(file: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal', '.witness']) rmSync(`${file}${suffix}`, { force: true });
}
