import type { Kysely } from 'kysely';
import { DomainError, ForbiddenError } from '../errors.ts';
import type { RecordingConditions } from '../model/certificate-store.ts';
import type { SnapshotSource } from '../model/snapshot-source.ts';
import { recordingStatements } from './certificate-statements.ts';
import type { Schema } from './database-schema.ts';
import type { GuardedDatabase } from './guarded-database.ts';
import { readChanges, readContents } from './read-changes.ts';

/** Records what is about to be handed out, in a transaction that asks its conditions first. */
export interface Recorder {
  /** Throws what the conditions throw, before `work` has done anything. */
  record<Result>(
    conditions: RecordingConditions | undefined,
    work: (db: Kysely<Schema>) => Promise<Result>,
  ): Promise<Result>;
  /** Throws `ForbiddenError` when the certificate was revoked, or is gone, before it was recorded as issued. */
  confirm(db: Kysely<Schema>, serial: string, fingerprint: string): Promise<void>;
}

export function createRecorder(database: GuardedDatabase): Recorder {
  const statements = recordingStatements();
  const sourceIn = (db: Kysely<Schema>): SnapshotSource => ({
    state: async () => {
      const { rows } = await statements.state.execute(db, { id: 1 });
      const [state] = rows;
      if (state === undefined) throw new Error('the store has no state');
      return state;
    },
    changesSince: (known, knows) => readChanges(db, known, knows),
    everything: async (work) => work(await readContents(db)),
  });
  const require = async (db: Kysely<Schema>, { presented, decide }: RecordingConditions): Promise<void> => {
    if (presented !== undefined) {
      const { rows } = await statements.revocation.execute(db, { serial: presented });
      if (rows.length > 0) throw new ForbiddenError('the certificate that asked was revoked');
    }
    await decide(sourceIn(db));
  };
  return {
    async record(conditions, work) {
      const outcome = await database.change(async (db) => {
        const refusal = conditions && (await refusalOf(() => require(db, conditions)));
        return refusal === undefined ? { result: await work(db) } : { refusal };
      });
      if ('refusal' in outcome) throw outcome.refusal;
      return outcome.result;
    },
    async confirm(db, serial, fingerprint) {
      const { numAffectedRows } = await statements.confirm.execute(db, { serial, fingerprint });
      if (numAffectedRows !== 1n) throw new ForbiddenError('the certificate was revoked while it was made');
    },
  };
}

/** Refusal as a value, so that other works in the transaction are not affected. */
async function refusalOf(require: () => Promise<void>): Promise<DomainError | undefined> {
  try {
    await require();
    return undefined;
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}
