import { chmodSync, constants, copyFileSync, existsSync, lstatSync, renameSync, rmSync } from 'node:fs';
import type { Clock } from '@signet/policy-engine/clock';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { StoreRefusedError, StoreUnavailableError } from '../../errors.ts';
import { auditHash } from '../audit-chain.ts';
import type { ChangeContext } from '../records.ts';
import { fileError, syncFile, syncFolder } from './backup.ts';
import { digestOfRows } from './digest.ts';
import { isBusy, isCorrupt, translateError } from './errors.ts';
import { openSqliteStore } from './open.ts';

/** What a restore did. */
export interface Restored {
  /** Over every row as it came from the backup: that of `signet backup`, when the schema was current. */
  readonly digest: string;
  readonly epoch: number;
}

/** More revocation lists than can have been published since any backup. */
const crlNumbersAhead = 1_000_000;

/**
 * Puts a backup in the place of the store. The store gets an epoch that was never used, so that hosts take its bundles although their
 * versions may have gone back; numbers of revocation lists go on above any that were published, and join tokens are spent, as nobody knows
 * which of them were. No server may have the store open. Until the last step the old store stays as it was. Throws
 * `StoreRefusedError` for a backup that cannot be used, `StoreUnavailableError` when the store is open elsewhere.
 */
export async function restoreStore(
  storeFile: string,
  backup: string,
  options: { readonly clock: Clock; readonly context: ChangeContext },
): Promise<Restored> {
  const fresh = `${storeFile}.restore-${process.pid}`;
  try {
    const oldEpoch = existsSync(storeFile) ? retire(storeFile) : 0;
    copyBackup(backup, fresh);
    // Checks the whole file, and brings an older schema up to date.
    await (await openSqliteStore(fresh, { clock: options.clock })).close();
    const restored = begin(fresh, oldEpoch, options);
    syncFile(fresh);
    renameSync(fresh, storeFile);
    syncFolder(storeFile);
    return restored;
  } catch (error) {
    if (isCorrupt(error)) throw new StoreRefusedError('corrupt', `backup \`${backup}\` is corrupt`, { cause: error });
    throw fileError(translateError(error), storeFile);
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${fresh}${suffix}`, { force: true });
  }
}

function copyBackup(backup: string, fresh: string): void {
  const stats = lstatSync(backup, { throwIfNoEntry: false });
  if (stats === undefined) throw new StoreRefusedError('missing', `backup \`${backup}\` does not exist`);
  if (!stats.isFile()) throw new StoreRefusedError('not-a-file', `backup \`${backup}\` is not a regular file`);
  copyFileSync(backup, fresh, constants.COPYFILE_EXCL);
  chmodSync(fresh, 0o600);
}

const epochRow = z.object({ epoch: z.int() });

/**
 * Makes sure that nobody else has the old store open, and that nothing of it is left beside the file: a log of the old store would be
 * read into the new one. Answers its epoch, 0 for a store that cannot be read any more.
 */
function retire(storeFile: string): number {
  let database: Database.Database | undefined;
  try {
    database = new Database(storeFile, { fileMustExist: true, timeout: 0 });
    database.pragma('locking_mode = EXCLUSIVE');
    database.exec('begin exclusive; rollback');
    const row = epochRow.safeParse(database.prepare('select epoch from meta where id = 1').get());
    database.pragma('journal_mode = DELETE');
    return row.success ? row.data.epoch : 0;
  } catch (error) {
    if (isBusy(error)) throw new StoreUnavailableError('the store is in use: stop its servers first', { cause: error });
    if (!isCorrupt(error)) throw error;
    database?.close();
    database = undefined;
    for (const suffix of ['-wal', '-shm']) rmSync(`${storeFile}${suffix}`, { force: true });
    return 0;
  } finally {
    database?.close();
  }
}

const metaRow = z.object({
  epoch: z.int(),
  counter: z.int(),
  next_id: z.int(),
  audit_head: z.string(),
});

/** The first change of the new epoch, with its audit record. */
function begin(
  file: string,
  oldEpoch: number,
  { clock, context }: { readonly clock: Clock; readonly context: ChangeContext },
): Restored {
  const database = new Database(file, { fileMustExist: true });
  try {
    database.pragma('journal_mode = DELETE');
    const digest = digestOfRows(database);
    const meta = metaRow.parse(database.prepare('select * from meta where id = 1').get());
    const epoch = Math.max(meta.epoch, oldEpoch) + 1;
    const row = {
      id: meta.next_id,
      at: clock.now(),
      actor: context.actor,
      certificate_serial: null,
      request_id: null,
      reason: context.reason ?? null,
      action: 'restore',
      subject: 'store',
      version: null,
      counter: meta.counter + 1,
      before: JSON.stringify({ epoch: meta.epoch }),
      after: JSON.stringify({ epoch, digest }),
    };
    const hash = auditHash(meta.audit_head, row);
    database.transaction(() => {
      database.prepare(insertAudit).run({ ...row, hash });
      database
        .prepare('update meta set epoch = ?, counter = ?, next_id = ?, audit_head = ?')
        .run(epoch, row.counter, row.id + 1, hash);
      database.prepare('update crl_numbers set number = number + ?').run(crlNumbersAhead);
      database.prepare('update join_tokens set spent_at = ? where spent_at is null').run(Math.floor(row.at / 1000));
    })();
    return { digest, epoch };
  } finally {
    database.close();
  }
}

const insertAudit = `insert into audit
  (id, at, actor, certificate_serial, request_id, reason, action, subject, version, counter, before, after, hash)
  values (@id, @at, @actor, @certificate_serial, @request_id, @reason, @action, @subject, @version, @counter, @before, @after, @hash)`;
