import cluster from 'node:cluster';
import { hostname } from 'node:os';
import type { Clock } from '@signet/policy-engine/clock';
import type { Kysely } from 'kysely';
import { StoreReadOnlyError, StoreUnavailableError } from '../../errors.ts';
import { clockToleranceMs, type Moment, type NewestRecord, type StoreCondition } from '../../model/store.ts';
import type { Schema } from '../database-schema.ts';
import type { Durability, StoreDatabase } from '../store-database.ts';
import { hasRoom, mayWrite, openDatabase, openForReading } from './connect.ts';
import { checkStoreFile, type FileIdentity, fileIdentity, whyUnseen } from './file-checks.ts';
import { requireInStep } from './in-step.ts';
import { checkSchema, type KnownSchemas } from './known-schema.ts';
import { StoreReadings } from './readings.ts';
import { isUnwritable, translateError } from './sqlite-errors.ts';
import { readWitness } from './witness.ts';
import { WitnessWatch } from './witness-watch.ts';
import { StoreWriter, type WrittenTime } from './writer.ts';

/** Writer name of a time that an operator has confirmed. */
const acceptedClock = 'accepted';

interface SqliteStoreDeps {
  readonly file: string;
  readonly readonly: boolean;
  readonly witness: 'required' | 'ignored';
  readonly schemas: KnownSchemas;
  readonly clock: Clock;
  readonly monotonic: () => number;
  readonly tellsTime: () => boolean;
  /** An operator says that the clock is right. */
  readonly acceptsClock: boolean;
  /** Checks the whole file and brings it up to date, before it is opened for changes. */
  readonly prepare: () => Promise<void>;
}

interface Connections {
  readonly identity: FileIdentity;
  readonly log: FileIdentity | undefined;
  readonly reader: StoreReadings;
  /** Writer; absent in a store that is only read. */
  readonly writer: StoreWriter | undefined;
}

/** The connections to a store: they follow the file when it is replaced, and are for reading only while it cannot be written. */
export class SqliteStoreDatabase implements StoreDatabase {
  readonly #deps: SqliteStoreDeps;
  readonly #process = `${hostname()}/${cluster.isWorker ? process.ppid : process.pid}`;
  #connections: Connections | undefined;
  #opening: Promise<Connections> | undefined;
  #closed = false;
  #condition: StoreCondition = 'writable';
  #lastWritten: Moment | undefined;
  #watch: WitnessWatch | undefined;

  constructor(deps: SqliteStoreDeps) {
    this.#deps = deps;
  }

  async open(): Promise<void> {
    await this.#current();
    await this.#rememberLastTime();
  }

  async reader(): Promise<Kysely<Schema>> {
    return (await this.#current()).reader.queries.db;
  }

  async startReads(start: (db: Kysely<Schema>) => void): Promise<void> {
    (await this.#current()).reader.atOneInstant(start);
  }

  async view<Result>(work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result> {
    return (await this.#current()).reader.queries.transact(work);
  }

  transactAlone<Result>(work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result> {
    return this.transact(work);
  }

  /** SQLite has one writer: no transaction runs beside another one. */
  async transact<Result>(
    work: (db: Kysely<Schema>) => Promise<Result>,
    durability: Durability = 'acknowledged',
  ): Promise<Result> {
    try {
      const writer = (await this.#current()).writer ?? (await this.#openForChanges());
      const { result, hasChanged, at } = await writer.transact(work, durability);
      if (hasChanged) this.#condition = 'writable';
      if (at !== undefined) this.#lastWritten = { wall: at, monotonic: this.#deps.monotonic() };
      return result;
    } catch (error) {
      if (isUnwritable(error)) this.#condition = 'read-only';
      throw error;
    }
  }

  condition(): StoreCondition {
    const { file, readonly } = this.#deps;
    return readonly || !mayWrite(file) ? 'read-only' : this.#condition;
  }

  async tryWriting(): Promise<StoreCondition> {
    try {
      const { writer } = await this.#current();
      await (writer ?? (await this.#openForChanges())).touch();
      this.#condition = 'writable';
    } catch (error) {
      if (isUnwritable(error)) this.#condition = 'read-only';
    }
    return this.condition();
  }

  async newestRecord(): Promise<NewestRecord | undefined> {
    const db = await this.reader();
    const meta = db.selectFrom('meta').select(['written_at', 'written_by']).where('id', '=', 1);
    const { written_at: at, written_by: by } = await meta.executeTakeFirstOrThrow();
    return at === 0 ? undefined : { at, own: this.#isOwn(by) };
  }

  lastWritten(): Moment | undefined {
    return this.#lastWritten;
  }

  translate(error: unknown): unknown {
    return translateError(error);
  }

  /** Watches for changes of other processes; own writes need no hint. */
  watch(listener: () => void): void {
    this.#watch?.close();
    this.#watch = new WitnessWatch(this.#deps.file, () => {
      if (this.#mayHaveOthersChanges()) listener();
    });
  }

  #mayHaveOthersChanges(): boolean {
    try {
      return this.#connections?.writer?.hasOthersChanges() ?? true;
    } catch {
      // The next access finds out why.
      return true;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watch?.close();
    await this.#opening?.catch(() => undefined);
    await this.#drop();
  }

  #onlyRead(): StoreReadOnlyError {
    if (this.#deps.readonly) return new StoreReadOnlyError('the store is opened for reading only');
    return new StoreReadOnlyError('the store cannot be written: its disk is full or read-only');
  }

  /**
   * INVARIANT: a clock that was set back, or was wrong when this process began, writes down no time: it would be its own witness. The clock of
   * another server is a separate one, and an operator may say that the own one is right.
   */
  #timeAfter({ at, by }: WrittenTime): number | undefined {
    const { clock, monotonic, tellsTime, acceptsClock } = this.#deps;
    const now = clock.now();
    if (!tellsTime()) return undefined;
    if (acceptsClock || by === acceptedClock) return now;
    // Once that time has come it proves nothing against the clock any more.
    if (this.#isOwn(by)) return at - now > clockToleranceMs ? undefined : now;
    const own = this.#lastWritten;
    const expected = own && own.wall + (monotonic() - own.monotonic);
    return expected !== undefined && expected - now > clockToleranceMs ? undefined : now;
  }

  /** Loads the last time written here, which is evidence from the start if it is later than the clock. */
  async #rememberLastTime(): Promise<void> {
    const newest = await this.newestRecord();
    const { clock, monotonic } = this.#deps;
    if (newest?.own === true && newest.at > clock.now()) {
      this.#lastWritten = { wall: newest.at, monotonic: monotonic() };
    }
  }

  /** This process, or one of this machine that has ended. */
  #isOwn(by: string): boolean {
    if (by === this.#process) return true;
    const [, host, pid] = /^(.*)\/(\d+)$/.exec(by) ?? [];
    return host === hostname() && !isAlive(Number(pid));
  }

  /**
   * Connections to the present file: an open file stays readable after it was replaced, so the path is checked each time. The same holds for its
   * log.
   */
  async #current(): Promise<Connections> {
    if (this.#closed) throw new StoreUnavailableError('the store is closed');
    const identity = fileIdentity(this.#deps.file);
    if (identity === undefined) throw unseen(this.#deps.file);
    const known = this.#connections;
    if (known !== undefined && isSame(known.identity, identity) && this.#isLogInPlace(known.log)) return known;
    return await this.#reopen();
  }

  #isLogInPlace(log: FileIdentity | undefined): boolean {
    return isSame(fileIdentity(`${this.#deps.file}-wal`), log);
  }

  /** Opens a store for changes that was opened for reading, for want of space or rights. */
  async #openForChanges(): Promise<StoreWriter> {
    if (this.#deps.readonly || !hasRoom(this.#deps.file)) throw this.#onlyRead();
    const { writer } = await this.#reopen();
    if (writer === undefined) throw this.#onlyRead();
    return writer;
  }

  #reopen(): Promise<Connections> {
    this.#opening ??= this.#openAnew().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #openAnew(): Promise<Connections> {
    await this.#drop();
    const identity = checkStoreFile(this.#deps.file);
    this.#connections = this.#deps.readonly ? await this.#openReader(identity) : await this.#openBoth(identity);
    return this.#connections;
  }

  async #openBoth(identity: FileIdentity): Promise<Connections> {
    try {
      await this.#deps.prepare();
      return await this.#openReader(identity, (log) => {
        const { file, acceptsClock } = this.#deps;
        return new StoreWriter(openDatabase(file), {
          storeFile: file,
          isLogInPlace: () => this.#isLogInPlace(log),
          timeAfter: (last) => this.#timeAfter(last),
          writtenBy: acceptsClock ? acceptedClock : this.#process,
        });
      });
    } catch (error) {
      if (!isUnwritable(error)) throw error;
      this.#condition = 'read-only';
      return await this.#openReader(identity);
    }
  }

  async #openReader(
    identity: FileIdentity,
    openWriter?: (log: FileIdentity | undefined) => StoreWriter,
  ): Promise<Connections> {
    const { file, schemas } = this.#deps;
    const witness = this.#deps.witness === 'ignored' ? undefined : readWitness(file);
    const reads = openWriter === undefined ? openForReading(file) : openDatabase(file);
    const reader = new StoreReadings(reads);
    try {
      checkSchema(reads, file, schemas);
      if (witness !== undefined) requireInStep(reads, file, witness);
      // Read before: so SQLite has the log open, and no other process removes it.
      const log = fileIdentity(`${file}-wal`);
      return { identity, log, reader, writer: openWriter?.(log) };
    } catch (error) {
      await reader.queries.close();
      throw error;
    }
  }

  async #drop(): Promise<void> {
    const connections = this.#connections;
    if (connections === undefined) return;
    const { identity, log, writer, reader } = connections;
    // A log that was removed under it holds changes that nothing else does.
    const isOurs = isSame(fileIdentity(this.#deps.file), identity);
    if (isOurs && !this.#isLogInPlace(log)) writer?.saveLog();
    this.#connections = undefined;
    await reader.queries.close();
    await writer?.close();
  }
}

function isSame(one: FileIdentity | undefined, other: FileIdentity | undefined): boolean {
  return one?.inode === other?.inode && one?.device === other?.device;
}

/** INVARIANT: the connections stay: a folder that lets this user in again leads to the same file, and to a log that nothing else holds. */
function unseen(file: string): StoreUnavailableError {
  const code = whyUnseen(file) ?? 'ENOENT';
  const message =
    code === 'ENOENT' ? 'the file of the store is gone' : `the file of the store cannot be reached (${code})`;
  return new StoreUnavailableError(message, { detail: { file, code } });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process exists, and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
