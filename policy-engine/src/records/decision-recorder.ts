import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Decision, Status } from '../policy/index.ts';

/** Decision in the form of logs and audits. It never holds a token or a certificate. */
export interface DecisionRecord {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly status: Status;
  /** The domain of the token, or the one that was asked in. */
  readonly domain?: string;
  readonly roles?: readonly string[];
  readonly action?: string;
  readonly resource?: string;
  /** `sub` and `jti` of a verified token. */
  readonly subject?: string;
  readonly tokenId?: string;
  /** The policy, the assertion and the revision that decided. */
  readonly policy?: string;
  readonly assertion?: Decision['assertion'];
  readonly revision?: Decision['revision'];
}

/** Destination and selection of recorded decisions. */
export interface RecordOptions {
  /** Receives the records in order, some at a time, after the decisions were given. What it throws is counted, not passed on. */
  write: (records: readonly DecisionRecord[]) => void | Promise<void>;
  /** The share of decisions that is recorded, from 0 to 1. Default 1. */
  sampleRate?: number;
  /** Masks a record before it is written. `undefined` drops the record; so does an error, lest it be written unmasked. */
  mask?: (record: DecisionRecord) => DecisionRecord | undefined;
  /** How many records may wait for `write`; further ones are dropped and counted. Default 1,000. */
  maxWaiting?: number;
  /** Random source from 0 to below 1. Default: `Math.random`. */
  random?: () => number;
}

/** Counts of records since the engine was made, by result. */
export interface RecordCounts {
  readonly written: number;
  /** Records dropped as too many waited. */
  readonly dropped: number;
  /** Records that `mask` dropped or threw for. */
  readonly masked: number;
  /** Handed to a `write` that threw. */
  readonly failed: number;
}

/** Called for records that are not written. Never throws. */
type OnDropped = (reason: 'waiting' | 'masked' | 'failed', count: number) => void;

/** Timeout of `flush` for a `write` that does not end, in milliseconds. */
const flushMs = 5000;

/** Recorder that passes on decisions, without ever slowing down or changing one. */
export class DecisionRecorder {
  readonly #options: RecordOptions;
  readonly #onDropped: OnDropped;
  readonly #sampleRate: number;
  readonly #maxWaiting: number;
  readonly #random: () => number;
  #waiting: DecisionRecord[] = [];
  #writing: Promise<void> | undefined;
  #written = 0;
  #dropped = 0;
  #masked = 0;
  #failed = 0;

  constructor(options: RecordOptions, onDropped: OnDropped = () => undefined) {
    this.#options = options;
    this.#onDropped = onDropped;
    this.#sampleRate = options.sampleRate ?? 1;
    this.#maxWaiting = options.maxWaiting ?? 1000;
    this.#random = options.random ?? Math.random;
  }

  get counts(): RecordCounts {
    return { written: this.#written, dropped: this.#dropped, masked: this.#masked, failed: this.#failed };
  }

  /** True if the next decision is in the sample. A random source that fails samples everything. Never throws. */
  samples(): boolean {
    try {
      return this.#sampleRate >= 1 || this.#random() < this.#sampleRate;
    } catch {
      return true;
    }
  }

  /** Never throws. */
  record(record: DecisionRecord): void {
    if (this.#waiting.length >= this.#maxWaiting) {
      this.#dropped += 1;
      this.#onDropped('waiting', 1);
      return;
    }
    this.#waiting.push(record);
    this.#writing ??= this.#drain();
  }

  /** Resolves when everything that waits was handed over, or was not within `flushMs`: the end of a program does not wait for its records. */
  async flush(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, flushMs);
    await Promise.race([this.#writing, promise]);
    clearTimeout(timer);
  }

  async #drain(): Promise<void> {
    // The decision comes first: nothing is written before the caller had a chance to act on it.
    await nextTurn();
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      await this.#write(waiting.flatMap((record) => this.#mask(record) ?? []));
    }
    this.#writing = undefined;
  }

  #mask(record: DecisionRecord): DecisionRecord | undefined {
    if (this.#options.mask === undefined) return record;
    try {
      const masked = this.#options.mask(record);
      if (masked !== undefined) return masked;
    } catch {
      // Dropped as well, lest it be written unmasked.
    }
    this.#masked += 1;
    this.#onDropped('masked', 1);
    return undefined;
  }

  async #write(records: readonly DecisionRecord[]): Promise<void> {
    if (records.length === 0) return;
    try {
      await this.#options.write(records);
      this.#written += records.length;
    } catch {
      this.#failed += records.length;
      this.#onDropped('failed', records.length);
    }
  }
}
