import { chmodSync, closeSync, existsSync, linkSync, openSync, rmSync } from 'node:fs';
import { syncFileSync } from '@signet/policy-engine/internal/files';
import Database from 'better-sqlite3';
import { ConflictError, StoreRefusedError } from '../../errors.ts';
import { sealBackup } from './backup-seal.ts';
import { openForReading } from './connect.ts';
import { checkStoreFile } from './file-checks.ts';
import { requireInStep } from './in-step.ts';
import { checkSchema, type KnownSchemas, knownSchemas } from './known-schema.ts';
import { refusalOf } from './open-sqlite.ts';
import { isWriteError, translateError } from './sqlite-errors.ts';
import { readWitness } from './witness.ts';
import { syncNameOf, writeError } from './written-file.ts';

/**
 * Copies the store as of one instant into a new file (mode 0600), while others read and write it, seals it under the key and answers its
 * digest. The file appears whole or not at all. Throws `ConflictError` when it exists, `StoreRefusedError`, `StoreUnavailableError`.
 */
export async function backUpStore(storeFile: string, target: string, sealKey: Buffer): Promise<string> {
  checkStoreFile(storeFile);
  const schemas = knownSchemas();
  if (existsSync(target)) throw new ConflictError(`\`${target}\` exists already`);
  const partial = `${target}.partial-${process.pid}`;
  try {
    // Created empty with its mode first: the copy must not be readable by other users at any moment.
    closeSync(openSync(partial, 'wx', 0o600));
    copy(storeFile, partial);
    const digest = finish(partial, storeFile, schemas, sealKey);
    chmodSync(partial, 0o600);
    syncFileSync(partial);
    // A link refuses what a rename would overwrite.
    linkSync(partial, target);
    syncNameOf(target);
    return digest;
  } catch (error) {
    throw translateError(writeError(error, target));
  } finally {
    for (const suffix of ['', '-journal']) rmSync(`${partial}${suffix}`, { force: true });
  }
}

function copy(storeFile: string, partial: string): void {
  const witness = readWitness(storeFile);
  let database: Database.Database | undefined;
  try {
    database = openForReading(storeFile);
    database.pragma('busy_timeout = 5000');
    requireInStep(database, storeFile, witness);
    database.prepare('vacuum into ?').run(partial);
  } catch (error) {
    // A write error concerns the new file; everything else the store.
    throw isWriteError(error) ? error : refusalOf(storeFile, error);
  } finally {
    database?.close();
  }
}

function finish(file: string, storeFile: string, schemas: KnownSchemas, sealKey: Buffer): string {
  const database = new Database(file, { fileMustExist: true });
  try {
    database.pragma('trusted_schema = OFF');
    checkSchema(database, storeFile, schemas, 'older-is-fine');
    if (database.pragma('integrity_check(1)', { simple: true }) !== 'ok') {
      throw new StoreRefusedError('corrupt', 'the store is corrupt: its copy is incomplete');
    }
    return sealBackup(database, sealKey);
  } finally {
    database.close();
  }
}
