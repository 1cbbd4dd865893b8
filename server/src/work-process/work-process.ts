import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { FairQueue, type NoPlace } from '../turns/fair-queue.ts';

export interface WorkProcessOptions {
  /** The module that the process runs: it answers jobs by `answerJobs`. */
  readonly module: URL;
  /** The process ends when it had nothing to do for so long, in milliseconds. */
  readonly idleMs: number;
  /** A job that takes longer ends with its process, in milliseconds. */
  readonly maxJobMs: number;
  /** A job that needs a larger heap ends with its process. */
  readonly maxHeapMiB: number;
  readonly maxWaiting: number;
  /** Nor do more jobs of one lane. */
  readonly maxWaitingOfLane: number;
}

/** Answer of the process. */
export type JobAnswer =
  | { readonly kind: 'answer'; readonly value: unknown }
  | { readonly kind: 'failure'; readonly error: unknown };

/**
 * Reason why a job has no answer: `aborted` (as for want of memory) and `time` are its own fault, `ended` is not; `share` is too much of its
 * lane, `busy` too much in all.
 */
type JobFailure = 'aborted' | 'time' | 'ended' | 'cancelled' | NoPlace;

export class JobError extends Error {
  override readonly name = 'JobError';
  readonly reason: JobFailure;

  constructor(reason: JobFailure, options?: ErrorOptions) {
    super(`the job has no answer: ${reason}`, options);
    this.reason = reason;
  }
}

/**
 * A process for work that would hold up everything else: started with the first job, ended when idle, replaced when it fails. Not a thread:
 * one that runs out of memory takes its whole process with it (docs/decisions/031).
 */
interface WorkProcess {
  /**
   * Runs one job after the others, with lanes that take turns; the job ends with its process when the signal is aborted. Throws `JobError`,
   * and what the module throws.
   */
  run(job: unknown, lane: string, signal?: AbortSignal): Promise<unknown>;
  /** Ends the process, and fails what it has not done. */
  close(): Promise<void>;
}

interface Entry {
  readonly job: unknown;
  readonly lane: string;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export function createWorkProcess(options: WorkProcessOptions): WorkProcess {
  return new SerialWorkProcess(options);
}

/** V8's young objects get 4 MiB at most: by itself it takes a hundred while a large job runs. */
const youngSpace = '--max-semi-space-size=4';

class SerialWorkProcess implements WorkProcess {
  readonly #options: WorkProcessOptions;
  readonly #waiting: FairQueue<Entry>;
  #child: ChildProcess | undefined;
  #settle: ((answer: JobAnswer | JobError) => void) | undefined;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: WorkProcessOptions) {
    this.#options = options;
    this.#waiting = new FairQueue({ places: options.maxWaiting, laneShare: options.maxWaitingOfLane });
  }

  run(job: unknown, lane: string, signal?: AbortSignal): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const entry = { job, lane, signal, resolve, reject };
    if (this.#closed) reject(new JobError('ended'));
    else if (signal?.aborted === true) reject(new JobError('cancelled'));
    else if (this.#settle === undefined) {
      this.#waiting.take(lane);
      this.#begin(entry);
    } else this.#enqueue(entry);
    return promise;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const entry of this.#waiting.clear()) entry.reject(new JobError('ended'));
    await this.#end(new JobError('ended'));
  }

  #enqueue(entry: Entry): void {
    const refused = this.#waiting.add(entry.lane, entry);
    if (refused !== undefined) {
      entry.reject(new JobError(refused));
      return;
    }
    entry.signal?.addEventListener('abort', () => {
      if (this.#waiting.remove(entry.lane, entry)) entry.reject(new JobError('cancelled'));
    });
  }

  #next(): void {
    const entry = this.#waiting.next();
    if (entry !== undefined) this.#begin(entry);
    else if (this.#child !== undefined) {
      this.#idle = setTimeout(() => void this.#end(new JobError('ended')), this.#options.idleMs).unref();
    }
  }

  #begin({ job, signal, resolve, reject }: Entry): void {
    clearTimeout(this.#idle);
    const timer = setTimeout(() => void this.#end(new JobError('time')), this.#options.maxJobMs);
    const cancel = () => void this.#end(new JobError('cancelled'));
    signal?.addEventListener('abort', cancel);
    this.#settle = (answer) => {
      this.#settle = undefined;
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      if (answer instanceof JobError) reject(answer);
      else if (answer.kind === 'failure') reject(answer.error);
      else resolve(answer.value);
      if (!this.#closed) this.#next();
    };
    this.#child ??= this.#start();
    // A failed send needs no handling: the end of the process reports it.
    this.#child.send({ job }, () => undefined);
  }

  #start(): ChildProcess {
    const { module, maxHeapMiB } = this.#options;
    const child = fork(fileURLToPath(module), [], {
      // Sources run as they are.
      execArgv: [
        `--max-old-space-size=${maxHeapMiB}`,
        youngSpace,
        ...(isSource(module) ? ['--conditions=@signet/source'] : []),
      ],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('message', (answer: JobAnswer) => {
      if (this.#child === child) this.#settle?.(answer);
    });
    let cause: unknown;
    child.on('error', (error) => {
      cause = error;
      this.#ended(child, new JobError('ended', { cause }));
    });
    child.on('exit', (_code, signal) => {
      this.#ended(child, new JobError(signal === 'SIGABRT' ? 'aborted' : 'ended', { cause }));
    });
    return child;
  }

  #ended(child: ChildProcess, error: JobError): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    clearTimeout(this.#idle);
    this.#settle?.(error);
  }

  async #end(error: JobError): Promise<void> {
    clearTimeout(this.#idle);
    const child = this.#child;
    this.#child = undefined;
    const gone = child === undefined ? undefined : ended(child);
    // The process holds no state.
    child?.kill('SIGKILL');
    this.#settle?.(error);
    await gone;
  }
}

function ended(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

function isSource(module: URL): boolean {
  return module.pathname.endsWith('.ts');
}
