import { constants, copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Clock, formatTimestamp } from '@signet/policy-engine/clock';
import { syncDirectorySync, syncFileSync } from '@signet/policy-engine/internal/files';
import { loadConfig, type ServerConfig } from '../config/config.ts';
import { ConflictError } from '../errors.ts';
import type { ChangeContext } from '../model/records.ts';
import { backUp, ensureSealKey, readSealKey, restore, sealKeyName } from '../store/maintenance.ts';
import { ArchiveError, type ArchiveKey, type ArchiveLock, checkLock, readArchive, writeArchive } from './archive.ts';
import { configurationName, contentsOf } from './contents.ts';
import { type Manifest, readManifest, writeManifest } from './manifest.ts';
import { withStaging } from './staging.ts';

/** The backup of the store, in its folder. */
const storeName = 'signet.backup';

interface Made {
  /** SHA-256 of the file, in hexadecimal. */
  readonly digest: string;
  readonly storeDigest: string;
  readonly files: readonly string[];
}

/**
 * Writes the store as of one instant, while servers go on, with configuration, keys, certificates and documents into one encrypted file (mode 0600). Throws
 * `ConflictError` when it exists, `ArchiveError` for a recipient that is none and a file that cannot be copied, and what `backUp` throws.
 */
export async function makeFullBackup(
  config: ServerConfig,
  target: string,
  lock: ArchiveLock,
  clock: Clock,
): Promise<Made> {
  checkLock(lock);
  return await withStaging(dirname(target), 'backup', async (staging) => {
    // Before the files are read: it makes the key of the seal where there is none.
    const sealKey = ensureSealKey(join(config.keysDir, sealKeyName));
    const { configuration, files, dataDir } = contentsOf(config);
    const store = join(dataDir, storeName);
    for (const { path, name } of files) {
      mkdirSync(dirname(join(staging, name)), { recursive: true, mode: 0o700 });
      copyInto(path, join(staging, name));
    }
    writeFileSync(join(staging, configurationName), configuration, { mode: 0o600, flag: 'wx' });
    mkdirSync(join(staging, dataDir), { recursive: true, mode: 0o700 });
    const storeDigest = await backUp(config.store, join(staging, store), sealKey);
    const madeAt = formatTimestamp(clock.now());
    const manifest = writeManifest(staging, { madeAt, storeKind: config.store.kind, storeDigest, store });
    const digest = await writeArchive(target, staging, lock);
    return { digest, storeDigest, files: Object.keys(manifest.files) };
  });
}

/** Throws `ArchiveError` for a file that cannot be read. */
function copyInto(path: string, copy: string): void {
  try {
    copyFileSync(path, copy, constants.COPYFILE_EXCL);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new ArchiveError(`\`${path}\`, which the configuration names, cannot be copied (${code})`, { cause: error });
  }
}

interface Unpacked {
  readonly config: string;
  readonly madeAt: string;
  /** Epoch of a SQLite store, which is in place. */
  readonly epoch?: number;
  /** The backup of a store of PostgreSQL, which is to be restored into a database. */
  readonly storeBackup?: string;
}

/**
 * Makes what a complete backup holds into a folder that is not there yet, or empty: a server that can be started. A store of SQLite gets a new epoch, as with
 * every restore; that of PostgreSQL stays a file, as the database of the configuration may be in use. Until the last step there is no folder. Throws
 * `ArchiveError`, `ConflictError` when the folder holds something, what `restore` throws.
 */
export async function unpackFullBackup(
  file: string,
  into: string,
  options: { readonly key: ArchiveKey; readonly clock: Clock; readonly context: ChangeContext },
): Promise<Unpacked> {
  const folder = resolve(into);
  refuseFull(folder);
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  return await withStaging(dirname(folder), 'restore', async (staging) => {
    await readArchive(file, staging, options.key);
    const manifest = readManifest(staging);
    const made = await restoreStore(staging, manifest, options);
    syncBelow(staging);
    renameSync(staging, folder);
    syncDirectorySync(dirname(folder));
    const config = join(folder, configurationName);
    const { madeAt } = manifest;
    if (made === undefined) return { config, madeAt, storeBackup: join(folder, manifest.store) };
    return { config, madeAt, epoch: made };
  });
}

/** Makes everything in a folder survive a crash: it must not have its name before its keys are on the disk. */
function syncBelow(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) syncBelow(path);
    else syncFileSync(path);
  }
  syncDirectorySync(folder);
}

function refuseFull(folder: string): void {
  try {
    if (readdirSync(folder).length > 0) throw new ConflictError(`\`${folder}\` is not empty: nothing was overwritten`);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}

/** The epoch of the store; undefined where it stays a file. */
async function restoreStore(
  folder: string,
  { store, storeKind }: Manifest,
  { clock, context }: { readonly clock: Clock; readonly context: ChangeContext },
): Promise<number | undefined> {
  if (storeKind === 'postgres') return undefined;
  const { store: place, dataDir, keysDir } = loadConfig(join(folder, configurationName));
  const proof = { sealKey: readSealKey(join(keysDir, sealKeyName)) };
  const { epoch } = await restore(place, join(folder, store), { clock, context, proof, dataDir });
  rmSync(join(folder, store));
  return epoch;
}
