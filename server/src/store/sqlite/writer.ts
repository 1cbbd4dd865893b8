import type Database from 'better-sqlite3';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { StoreUnavailableError, UnacknowledgedChangeError } from '../../errors.ts';
import { FairTurns } from '../../turns/fair-turns.ts';
import type { Schema } from '../database-schema.ts';
import type { Durability } from '../store-database.ts';
import { isUnreadable } from './sqlite-errors.ts';
import { SqliteQueries } from './sqlite-queries.ts';
import { type Position, WitnessWriter } from './witness.ts';
import { writeError } from './written-file.ts';

interface WriterDeps {
  readonly storeFile: string;
  /** True if the open log is the one beside the file. */
  readonly isLogInPlace: () => boolean;
  /** Time to write down, beside the one there; undefined for writes that are no evidence of the time. */
  readonly timeAfter: (last: WrittenTime) => number | undefined;
  /** The name of this process in the store. */
  readonly writtenBy: string;
}

/** Time of the newest record, and the process whose clock it is. */
export interface WrittenTime {
  /** Milliseconds since the epoch; 0 before the first. */
  readonly at: number;
  readonly by: string;
}

interface MetaRow extends Position, WrittenTime {}

/** Page cache of a change, in KiB. */
const cacheKiB = 2000;

interface Transacted<Result> {
  readonly result: Result;
  readonly hasChanged: boolean;
  /** The time that was written down with it. */
  readonly at: number | undefined;
}

const logRemoved = 'the log of the store was removed while it was in use';

/** Connection that changes a store: numbers every change, and writes that to the witness before anything is acknowledged. */
export class StoreWriter {
  readonly #database: Database.Database;
  readonly #queries: SqliteQueries;
  readonly #turns = new FairTurns();
  readonly #witness: WitnessWriter;
  readonly #deps: WriterDeps;
  readonly #changes: Database.Statement<unknown[]>;
  readonly #number: Database.Statement<[at: number, by: string]>;
  readonly #numberOnly: Database.Statement<unknown[]>;
  readonly #meta: Database.Statement<[], MetaRow>;
  readonly #dataVersion: Database.Statement<unknown[]>;
  #durability: Durability = 'acknowledged';
  #knownVersion: unknown;

  constructor(database: Database.Database, deps: WriterDeps) {
    this.#database = database;
    // Pages beyond the cache are written to the log during the change: less is left for its commit, which is one call.
    database.pragma(`cache_size = -${cacheKiB}`);
    // Memory for the undo data of a statement with many rows: a file for it would need a descriptor and a folder, and could fail.
    database.pragma('temp_store = MEMORY');
    this.#queries = new SqliteQueries(database, 'changes');
    this.#deps = deps;
    this.#changes = database.prepare('select total_changes()').pluck();
    // `returning` goes through a table of its own: reading the row before is cheaper.
    this.#meta = database.prepare<[], MetaRow>(
      'select epoch, sequence, audit_head as head, written_at as at, written_by as by from meta where id = 1',
    );
    this.#number = database.prepare(
      'update meta set sequence = sequence + 1, written_at = ?, written_by = ? where id = 1',
    );
    this.#numberOnly = database.prepare('update meta set sequence = sequence + 1 where id = 1');
    // Changes with what other connections commit, and with nothing that this one does.
    this.#dataVersion = database.prepare('pragma data_version').pluck();
    this.#knownVersion = this.#dataVersion.get();
    this.#witness = new WitnessWriter(deps.storeFile);
  }

  /** True if another connection has changed the store since the last call, or since the beginning. */
  hasOthersChanges(): boolean {
    const version = this.#dataVersion.get();
    const hasChanged = version !== this.#knownVersion;
    this.#knownVersion = version;
    return hasChanged;
  }

  /** Throws what `work` throws, errors of SQLite, and `UnacknowledgedChangeError` once it has been committed. */
  transact<Result>(work: (db: Kysely<Schema>) => Promise<Result>, durability: Durability): Promise<Transacted<Result>> {
    return this.#oneAtATime(async () => {
      this.#prepareFor(durability);
      const { result, position, at } = await this.#queries.transact(async (db) => {
        this.#requireLog();
        const before = this.#changes.get();
        const result = await work(db);
        return { result, ...(this.#changes.get() !== before && this.#numbered(this.#deps.timeAfter)) };
      });
      if (position !== undefined) this.#acknowledge(position, durability);
      return { result, hasChanged: position !== undefined, at };
    });
  }

  /** A change without meaning: it is numbered, and no record by the clock. */
  touch(): Promise<unknown> {
    return this.#oneAtATime(async () => {
      this.#prepareFor('acknowledged');
      const position = await this.#queries.transact(async () => {
        this.#requireLog();
        return this.#numbered(() => undefined).position;
      });
      this.#acknowledge(position, 'acknowledged');
    });
  }

  /** Copies the content of a removed log into the file of the store. Throws when that is impossible now. */
  saveLog(): void {
    try {
      const outcome = z.array(z.object({ busy: z.int() })).parse(this.#database.pragma('wal_checkpoint(TRUNCATE)'));
      if (outcome.some(({ busy }) => busy !== 0)) throw new StoreUnavailableError(logRemoved);
    } catch (error) {
      // Another process has checkpointed and emptied the log. If not, the witness detects it.
      if (!isUnreadable(error)) throw error;
    }
  }

  async close(): Promise<void> {
    this.#witness.close();
    await this.#oneAtATime(async () => void this.#database.close());
  }

  #oneAtATime<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#turns.run('', work);
  }

  /** Requires the log under the lock of writers: no other process can have begun another log and written to it. */
  #requireLog(): void {
    if (!this.#deps.isLogInPlace()) throw new StoreUnavailableError(logRemoved);
  }

  /** Sets the sync mode: without a sync of its own, a deferred change becomes durable with the next one that has one. */
  #prepareFor(durability: Durability): void {
    if (durability === this.#durability) return;
    this.#database.exec(`pragma synchronous = ${durability === 'deferred' ? 'NORMAL' : 'FULL'}`);
    this.#durability = durability;
  }

  /** Assigns the open transaction its number, and the time that `timeAfter` returns. */
  #numbered(timeAfter: WriterDeps['timeAfter']): { readonly position: Position; readonly at: number | undefined } {
    const last = this.#meta.get();
    if (last === undefined) throw new Error('the store has no state');
    const { epoch, sequence, head } = last;
    const at = timeAfter(last);
    if (at === undefined) this.#numberOnly.run();
    else this.#number.run(at, this.#deps.writtenBy);
    return { position: { epoch, sequence: sequence + 1, head }, at };
  }

  #acknowledge(position: Position, durability: Durability): void {
    if (!this.#deps.isLogInPlace()) throw new UnacknowledgedChangeError(logRemoved);
    if (durability === 'deferred') return;
    try {
      this.#witness.write(position);
    } catch (error) {
      const said = writeError(error, `${this.#deps.storeFile}.witness`);
      const message = said instanceof Error ? said.message : 'the witness of the store cannot be written';
      throw new UnacknowledgedChangeError(message, { cause: error });
    }
  }
}
