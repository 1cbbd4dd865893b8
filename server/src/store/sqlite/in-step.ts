import type Database from 'better-sqlite3';
import { z } from 'zod';
import { StoreRefusedError } from '../../errors.ts';
import { partialCopy } from '../copy/copy-mark.ts';
import { hasSeal } from './backup-seal.ts';
import { isMarked } from './partial-copy.ts';
import { isFurther, type Position, readWitness, type WitnessState, witnessFileOf } from './witness.ts';

/** Loss of acknowledged changes by a store. */
export interface Loss {
  readonly reason: 'behind' | 'witness';
  readonly message: string;
}

const positionRow = z.object({ epoch: z.int(), sequence: z.int(), audit_head: z.string() });

/** Before any epoch: a witness that says so holds nothing against any store. */
export const nothing: Position = { epoch: 0, sequence: 0, head: '' };

/** Position of a store; zeros for one that is empty or of a program that did not count. */
export function readPosition(database: Database.Database): Position {
  const counts = database.prepare("select 1 from pragma_table_info('meta') where name = 'sequence'").get();
  if (counts === undefined) return nothing;
  const row = database.prepare('select epoch, sequence, audit_head from meta where id = 1').get();
  if (row === undefined) return nothing;
  const { audit_head: head, ...rest } = positionRow.parse(row);
  return { ...rest, head };
}

/**
 * Loss of a store against its witness. `before` is the witness as it was before the store was read, since both go on while others write. A later
 * epoch is that of a restore, which begins again.
 */
export function findLoss(database: Database.Database, file: string, before: WitnessState): Loss | undefined {
  const store = readPosition(database);
  // The witness may have been created since, with the first change.
  const witness = before === 'missing' ? readWitness(file) : before;
  if (witness === 'missing') {
    // A store that is new, of an older program, or the copy of a backup never had one.
    if (store.sequence === 0 || hasSeal(database)) return undefined;
    return lossOf('witness', file, `its witness \`${witnessFileOf(file)}\` is missing`);
  }
  if (witness === 'unreadable') return lossOf('witness', file, `its witness \`${witnessFileOf(file)}\` is damaged`);
  const what = whatIsLost(store, witness, (head) => hasRecord(database, head));
  return what === undefined ? undefined : lossOf('behind', file, what);
}

/** Acknowledged changes that a store at this position lacks; undefined if none. */
export function whatIsLost(
  store: Position,
  witness: Position,
  hasAuditRecord: (head: string) => boolean,
): string | undefined {
  if (store.epoch > witness.epoch) return undefined;
  if (isFurther(witness, store)) {
    const [was, is] = [witness, store].map(({ sequence, epoch }) => `${sequence} (epoch ${epoch})`);
    return `it is at change ${is}, and change ${was} was acknowledged`;
  }
  if (witness.head === '' || witness.head === store.head || hasAuditRecord(witness.head)) return undefined;
  return `it lacks audit record \`${witness.head}\`, which was acknowledged`;
}

/** Throws `StoreRefusedError` for a store that lacks what was acknowledged, or that a copy has not filled yet. */
export function requireInStep(database: Database.Database, file: string, before: WitnessState): void {
  // Checked first: its witness may already state the final position of the copy.
  if (isMarked(database)) throw partialCopy(file);
  const loss = findLoss(database, file, before);
  if (loss !== undefined) throw new StoreRefusedError(loss.reason, loss.message);
}

/** The newest first: what is looked for is a few records old, if it is there at all. */
function hasRecord(database: Database.Database, head: string): boolean {
  for (const hash of database.prepare('select hash from audit order by id desc').pluck().iterate()) {
    if (hash === head) return true;
  }
  return false;
}

function lossOf(reason: Loss['reason'], file: string, what: string): Loss {
  const help =
    'put back what was removed, run `signet restore` with a backup, or accept the loss with `signet store accept-loss`';
  return { reason, message: `store \`${file}\` has lost changes, or was replaced: ${what}: ${help}` };
}
