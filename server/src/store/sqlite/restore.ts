import { chmodSync, constants, copyFileSync, existsSync, linkSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import { syncFileSync } from '@signet/policy-engine/internal/files';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { StoreRefusedError, StoreUnavailableError } from '../../errors.ts';
import type { ChangeContext } from '../../model/records.ts';
import { refuseOtherSteps } from '../known-steps.ts';
import { hasDigest, readSeal } from './backup-seal.ts';
import { carryOver, type KeptRows } from './carry-over.ts';
import { nothing, readPosition, whatIsLost } from './in-step.ts';
import { appliedSteps, checkSchema, hasTablesOf, type KnownSchemas, knownSchemas } from './known-schema.ts';
import { prepareWhenFree } from './open-sqlite.ts';
import { restartStore } from './restart.ts';
import { isBusy, isCorrupt, isNoDatabase, isUnreadable, translateError } from './sqlite-errors.ts';
import { createWitness, readWitness, replaceWitness, type WitnessState } from './witness.ts';
import { syncNameOf, writeError } from './written-file.ts';

export interface Restored {
  /** Digest of schema and rows as they came from the backup: that of `signet backup`. */
  readonly digest: string;
  readonly epoch: number;
  /** Path of the store that was replaced; absent when there was none. */
  readonly replaced?: string;
  /** State carried over from the replaced store; absent if unreadable or absent. */
  readonly kept?: KeptRows;
}

/** Proof that a backup is authentic: the key that sealed it, or the digest that its making printed, given by an operator. */
export type BackupProof = { readonly sealKey: Buffer | undefined } | { readonly digest: string };

export interface RestoreOptions {
  readonly clock: Clock;
  readonly context: ChangeContext;
  readonly proof: BackupProof;
}

/**
 * Replaces the store by a backup. The store gets an epoch that was never used, so that hosts accept its bundles although their versions may be
 * lower. Certificates, revocations, instances, signing keys and audit records of the replaced store are carried over; when it is unreadable, or
 * has lost changes, join tokens are spent. No server may have the store open. Until the last step the old store stays as it was; then it is kept
 * beside the new one. Throws `StoreRefusedError` for a backup that cannot be used, `StoreUnavailableError` when the store is open elsewhere or
 * the disk is full.
 */
export async function restoreStore(storeFile: string, backup: string, options: RestoreOptions): Promise<Restored> {
  const fresh = `${storeFile}.restore-${process.pid}`;
  const schemas = knownSchemas();
  try {
    // Files left there by a killed restore, or another program, would be read as a part of the copy.
    removeCopy(fresh);
    const digest = await takeBackup(backup, fresh, options, schemas);
    return replace(storeFile, { fresh, digest }, options, schemas);
  } catch (error) {
    throw translateError(writeError(error, storeFile));
  } finally {
    removeCopy(fresh);
  }
}

function removeCopy(fresh: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${fresh}${suffix}`, { force: true });
}

/** Copies the backup, checks it as a whole, and brings an older schema up to date. Answers the digest over what came from it. */
async function takeBackup(
  backup: string,
  fresh: string,
  { clock, proof }: RestoreOptions,
  schemas: KnownSchemas,
): Promise<string> {
  const stats = lstatSync(backup, { throwIfNoEntry: false });
  if (stats === undefined) throw new StoreRefusedError('missing', `backup \`${backup}\` does not exist`);
  if (!stats.isFile()) throw new StoreRefusedError('not-a-file', `backup \`${backup}\` is not a regular file`);
  refuseLogs(backup);
  copyFileSync(backup, fresh, constants.COPYFILE_EXCL);
  chmodSync(fresh, 0o600);
  try {
    const digest = checkCopy(fresh, backup, proof, schemas);
    await prepareWhenFree(fresh, clock, 'alone');
    return digest;
  } catch (error) {
    if (isCorrupt(error) || isNoDatabase(error))
      throw new StoreRefusedError('corrupt', `backup \`${backup}\` is corrupt`, { cause: error });
    if (!(error instanceof StoreRefusedError)) throw error;
    // The copy has a name of its own.
    const message = error.message.replace(`store \`${fresh}\``, `backup \`${backup}\``);
    throw new StoreRefusedError(error.reason, message, { cause: error });
  }
}

/** Refuses logs beside a backup: `signet store check` reads of a file in use what is not in the file alone, which is what is restored. */
function refuseLogs(backup: string): void {
  const logs = ['-wal', '-journal'].map((suffix) => `${backup}${suffix}`);
  const log = logs.find((file) => (lstatSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0);
  if (log === undefined) return;
  throw new StoreRefusedError('corrupt', `backup \`${backup}\` is incomplete: some of its changes are in \`${log}\``);
}

function checkCopy(fresh: string, backup: string, proof: BackupProof, schemas: KnownSchemas): string {
  const database = new Database(fresh, { fileMustExist: true });
  try {
    database.pragma('trusted_schema = OFF');
    checkSchema(database, fresh, schemas, 'older-is-fine');
    if (database.pragma('integrity_check(1)', { simple: true }) !== 'ok') {
      throw new StoreRefusedError('corrupt', `backup \`${backup}\` is corrupt`);
    }
    return checkProof(database, backup, proof);
  } finally {
    database.close();
  }
}

/** Checks the proof: any writer of the file can also write a digest into it, so that alone proves nothing. */
function checkProof(database: Database.Database, backup: string, proof: BackupProof): string {
  const { state: seal, digest } = readSeal(database, 'sealKey' in proof ? proof.sealKey : undefined);
  if ('digest' in proof) {
    if (hasDigest(database, proof.digest, digest)) return digest;
    throw new StoreRefusedError('seal', `backup \`${backup}\` has another digest: \`${digest}\``);
  }
  if (seal === 'valid') return digest;
  if (seal === 'broken') {
    throw new StoreRefusedError('corrupt', `backup \`${backup}\` was changed after it was created`);
  }
  const what = seal === 'none' ? 'has no seal' : 'was sealed with a key that is not on this machine';
  const help =
    'use `--digest` with the digest that `signet backup` printed, or copy the key of the seal to this machine';
  throw new StoreRefusedError('seal', `backup \`${backup}\` ${what}: ${help}`);
}

/** The copy of a backup that takes the place of the store, and the digest over what came from it. */
interface CheckedCopy {
  readonly fresh: string;
  readonly digest: string;
}

/** Renames under the lock of the old store: no server can begin on it meanwhile. */
function replace(
  storeFile: string,
  { fresh, digest }: CheckedCopy,
  options: RestoreOptions,
  schemas: KnownSchemas,
): Restored {
  const database = new Database(fresh, { fileMustExist: true, timeout: 0 });
  try {
    database.pragma('trusted_schema = OFF');
    database.pragma('main.journal_mode = DELETE');
    const wasThere = existsSync(storeFile);
    const witness = readWitness(storeFile);
    const old = wasThere ? lockReplaced(database, storeFile, schemas, witness) : undefined;
    const { epoch, kept } = begin(database, digest, { old, witness }, options);
    const position = readPosition(database);
    syncFileSync(fresh);
    const replaced = freeName(`${storeFile}.replaced-${epoch}`);
    // Parts of a store that cannot be read, or whose file is gone, would be read into the new one. One that can be read is whole in its file.
    for (const suffix of old === undefined ? ['-wal', '-shm', '-journal'] : []) {
      if (existsSync(`${storeFile}${suffix}`)) renameSync(`${storeFile}${suffix}`, `${replaced}${suffix}`);
    }
    if (wasThere) linkSync(storeFile, replaced);
    if (witness === 'missing') createWitness(storeFile, nothing);
    renameSync(fresh, storeFile);
    syncNameOf(storeFile);
    // A witness of an earlier epoch holds nothing against the new store: killed here, nothing is missing.
    replaceWitness(storeFile, position);
    return { digest, epoch, ...(wasThere && { replaced }), ...(kept !== undefined && { kept }) };
  } finally {
    database.close();
  }
}

/** A restore that was killed may have left the name behind; what it holds is kept. */
function freeName(name: string): string {
  for (let attempt = 0; ; attempt += 1) {
    const found = attempt === 0 ? name : `${name}.${attempt}`;
    if (lstatSync(found, { throwIfNoEntry: false }) === undefined) return found;
  }
}

const replacedRow = z.object({ epoch: z.int(), next_id: z.int(), sequence: z.int(), audit_head: z.string() });
type ReplacedStore = z.infer<typeof replacedRow> & {
  /** True if it lacks acknowledged changes. */ readonly hasLost: boolean;
};

/**
 * Attaches the old store as `replaced`, with a lock that stays as long as the connection, and all of it in its one file. Undefined if it is
 * unreadable. Throws `StoreUnavailableError` if it is open elsewhere.
 */
function lockReplaced(
  database: Database.Database,
  storeFile: string,
  schemas: KnownSchemas,
  witness: WitnessState,
): ReplacedStore | undefined {
  try {
    database.prepare('attach ? as replaced').run(storeFile);
    database.pragma('replaced.locking_mode = EXCLUSIVE');
    database.exec('begin exclusive; rollback');
    database.pragma('replaced.journal_mode = DELETE');
    if (!isStore(database)) return undefined;
    refuseOtherSteps(appliedSteps(database, 'replaced'), storeFile);
    // Other objects in it take no part in reading its tables.
    if (!hasTablesOf(database, schemas)) return undefined;
    const columns = 'epoch, next_id, sequence, audit_head';
    const row = replacedRow
      .optional()
      .parse(database.prepare(`select ${columns} from replaced.meta where id = 1`).get());
    return row && { ...row, hasLost: hasLost(database, row, witness) };
  } catch (error) {
    if (isBusy(error)) throw new StoreUnavailableError('the store is in use: stop its servers first', { cause: error });
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}

function hasLost(database: Database.Database, row: z.infer<typeof replacedRow>, witness: WitnessState): boolean {
  if (typeof witness === 'string') return row.sequence > 0;
  const record = database.prepare('select 1 from replaced.audit where hash = ?');
  return whatIsLost({ ...row, head: row.audit_head }, witness, (head) => record.get(head) !== undefined) !== undefined;
}

/** True for a store: false for a file that was created and never filled, and for any other database. */
function isStore(database: Database.Database): boolean {
  const names = "select name from replaced.sqlite_schema where name in ('meta', 'kysely_migration')";
  return database.prepare(names).all().length === 2;
}

/** The first change of the new epoch, with its audit record. */
function begin(
  database: Database.Database,
  digest: string,
  { old, witness }: { readonly old: ReplacedStore | undefined; readonly witness: WitnessState },
  options: RestoreOptions,
): { readonly epoch: number; readonly kept: KeptRows | undefined } {
  const now = epochSeconds(options.clock);
  const kept = old && carryOver(database, now);
  const known = typeof witness === 'string' ? { epoch: 0, sequence: 0 } : witness;
  const epoch = restartStore(
    database,
    {
      action: 'restore',
      used: {
        // Epochs that cannot be looked up any more were smaller than the time.
        epoch: Math.max(old?.epoch ?? now, known.epoch),
        nextId: old?.next_id ?? 0,
        sequence: Math.max(old?.sequence ?? 0, known.sequence),
      },
      spendJoinTokens: kept === undefined || kept.lost.includes('joinTokens') || old?.hasLost === true,
      detail: { digest, kept },
    },
    options,
  );
  return { epoch, kept };
}
