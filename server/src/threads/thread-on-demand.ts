import { Worker } from 'node:worker_threads';

export interface ThreadOptions {
  /** The module that the thread runs: it answers each `ThreadJob` with a `ThreadAnswer`. */
  readonly module: URL;
  /** What the module needs to know, once. */
  readonly workerData: unknown;
  /** The thread ends when it had nothing to do for so long, in milliseconds. */
  readonly idleMs: number;
  /** A job that takes longer ends with its thread, in milliseconds. */
  readonly maxJobMs: number;
  /** So long a cancelled job may take to notice, in milliseconds; then it ends with its thread. */
  readonly cancelMs: number;
  /** A job that needs more ends with its thread. */
  readonly maxHeapMiB: number;
  /** More jobs do not wait. */
  readonly maxWaiting: number;
}

/** What the thread gets. */
export interface ThreadJob {
  readonly job: unknown;
  /** One 32-bit number, which is no longer 0 when nobody waits for the answer any more. */
  readonly cancelled: Int32Array;
}

/** What it answers. */
export type ThreadAnswer =
  | { readonly kind: 'answer'; readonly value: unknown }
  | { readonly kind: 'failure'; readonly error: unknown };

/** Why a job has no answer: `memory` and `time` are its own fault, `ended` is not. */
export type ThreadFailure = 'memory' | 'time' | 'ended' | 'cancelled' | 'busy';

export class ThreadError extends Error {
  override readonly name = 'ThreadError';
  readonly reason: ThreadFailure;

  constructor(reason: ThreadFailure, options?: ErrorOptions) {
    super(`the job of the thread has no answer: ${reason}`, options);
    this.reason = reason;
  }
}

/** A worker thread for work that would hold up everything else: started with the first job, ended when idle, replaced when it fails. */
export interface ThreadOnDemand {
  /** Runs one job after the others. Throws `ThreadError`, and what the module throws. */
  run(job: unknown, signal?: AbortSignal): Promise<unknown>;
  /** Ends the thread, and fails what it has not done. */
  close(): Promise<void>;
}

interface Entry {
  readonly job: unknown;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export function createThreadOnDemand(options: ThreadOptions): ThreadOnDemand {
  return new SerialThread(options);
}

class SerialThread implements ThreadOnDemand {
  readonly #options: ThreadOptions;
  readonly #waiting: Entry[] = [];
  #worker: Worker | undefined;
  #settle: ((answer: ThreadAnswer | ThreadError) => void) | undefined;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  run(job: unknown, signal?: AbortSignal): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const entry = { job, signal, resolve, reject };
    if (this.#closed) reject(new ThreadError('ended'));
    else if (this.#settle === undefined) this.#begin(entry);
    else if (this.#waiting.length < this.#options.maxWaiting) this.#enqueue(entry);
    else reject(new ThreadError('busy'));
    return promise;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const entry of this.#waiting.splice(0)) entry.reject(new ThreadError('ended'));
    await this.#end(new ThreadError('ended'));
  }

  #enqueue(entry: Entry): void {
    this.#waiting.push(entry);
    entry.signal?.addEventListener('abort', () => {
      const at = this.#waiting.indexOf(entry);
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      entry.reject(new ThreadError('cancelled'));
    });
  }

  #next(): void {
    const entry = this.#waiting.shift();
    if (entry !== undefined) this.#begin(entry);
    else if (this.#worker !== undefined) {
      this.#idle = setTimeout(() => void this.#end(new ThreadError('ended')), this.#options.idleMs).unref();
    }
  }

  #begin({ job, signal, resolve, reject }: Entry): void {
    clearTimeout(this.#idle);
    const { maxJobMs, cancelMs } = this.#options;
    const cancelled = new Int32Array(new SharedArrayBuffer(4));
    const timer = setTimeout(() => void this.#end(new ThreadError('time')), maxJobMs);
    let grace: NodeJS.Timeout | undefined;
    const cancel = () => {
      Atomics.store(cancelled, 0, 1);
      grace = setTimeout(() => void this.#end(new ThreadError('cancelled')), cancelMs);
    };
    this.#settle = (answer) => {
      this.#settle = undefined;
      clearTimeout(timer);
      clearTimeout(grace);
      signal?.removeEventListener('abort', cancel);
      if (answer instanceof ThreadError) reject(answer);
      else if (signal?.aborted === true) reject(new ThreadError('cancelled'));
      else if (answer.kind === 'failure') reject(answer.error);
      else resolve(answer.value);
      if (!this.#closed) this.#next();
    };
    if (signal?.aborted === true) {
      this.#settle(new ThreadError('cancelled'));
      return;
    }
    signal?.addEventListener('abort', cancel);
    this.#worker ??= this.#open();
    this.#worker.postMessage({ job, cancelled } satisfies ThreadJob);
  }

  #open(): Worker {
    const { module, workerData, maxHeapMiB } = this.#options;
    const worker = new Worker(module, {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
      // Sources run as they are: what makes a process take them holds for one thread only.
      ...(isSource(module) && { execArgv: [...process.execArgv, '--conditions=@signet/source'] }),
    });
    worker.on('message', (answer: ThreadAnswer) => {
      if (this.#worker === worker) this.#settle?.(answer);
    });
    worker.on('messageerror', (cause) => void this.#end(new ThreadError('ended', { cause })));
    let cause: unknown;
    worker.on('error', (error: unknown) => {
      cause = error;
    });
    worker.on('exit', () => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#settle?.(new ThreadError(isOutOfMemory(cause) ? 'memory' : 'ended', { cause }));
    });
    return worker;
  }

  async #end(error: ThreadError): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    this.#settle?.(error);
    await worker?.terminate();
  }
}

function isSource(module: URL): boolean {
  return module.pathname.endsWith('.ts');
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
