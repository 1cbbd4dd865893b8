import { epochSeconds } from '@signet/policy-engine/clock';
import Database from 'better-sqlite3';
import { ConflictError, StoreUnavailableError } from '../../errors.ts';
import { checkStoreFile } from './file-checks.ts';
import { findLoss, readPosition } from './in-step.ts';
import { prepareWhenFree, refusalOf } from './open-sqlite.ts';
import { type RestartContext, restartStore } from './restart.ts';
import { isBusy } from './sqlite-errors.ts';
import { readWitness, replaceWitness } from './witness.ts';

/** State that was given up. */
interface AcceptedLoss {
  readonly epoch: number;
  /** The number of the newest change that is there. */
  readonly sequence: number;
  /** How many changes were acknowledged and are not there; absent when the witness does not tell. */
  readonly lostChanges?: number;
}

/**
 * Accepts a store that lacks changes known to its witness: under a new epoch, with an audit record, open join tokens spent. No server may have
 * it open. Throws `ConflictError` for a store that lacks nothing, `StoreUnavailableError` when it is in use, `StoreRefusedError`.
 */
export async function acceptLoss(file: string, options: RestartContext): Promise<AcceptedLoss> {
  try {
    checkStoreFile(file);
    await prepareWhenFree(file, options.clock, 'alone');
    return accept(file, options);
  } catch (error) {
    if (isBusy(error)) throw new StoreUnavailableError('the store is in use: stop its servers first', { cause: error });
    throw refusalOf(file, error);
  }
}

function accept(file: string, options: RestartContext): AcceptedLoss {
  const database = new Database(file, { fileMustExist: true, timeout: 0 });
  try {
    database.pragma('trusted_schema = OFF');
    database.pragma('locking_mode = EXCLUSIVE');
    database.exec('begin exclusive; rollback');
    const witness = readWitness(file);
    const loss = findLoss(database, file, witness);
    if (loss === undefined) throw new ConflictError('the store does not lack any acknowledged change');
    const { sequence, head } = readPosition(database);
    const known = typeof witness === 'string' ? undefined : witness;
    const used = { epoch: known?.epoch ?? epochSeconds(options.clock), nextId: 0, sequence: known?.sequence ?? 0 };
    const detail = { sequence, head, acknowledged: known ?? witness };
    const epoch = restartStore(database, { action: 'accept-loss', used, spendJoinTokens: true, detail }, options);
    replaceWitness(file, readPosition(database));
    const lostChanges = known === undefined ? undefined : Math.max(0, known.sequence - sequence);
    return { epoch, sequence, ...(lostChanges !== undefined && { lostChanges }) };
  } finally {
    database.close();
  }
}
