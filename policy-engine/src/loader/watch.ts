import type { FSWatcher } from 'chokidar';
import { type Place, placeOf } from './place.ts';

/** Calls `act` again and again, until the function that it answers is called. Must not keep the process alive. */
type Every = (intervalMs: number, act: () => void) => () => void;

interface WatchOptions {
  /** Looks at the directory. Called by one at a time. */
  readonly scan: () => Promise<void>;
  /** Interval of checks without an event. */
  readonly intervalMs: number;
  /** True to follow changes: by file events, and by a check for a directory that was swapped as a whole. */
  readonly events: boolean;
  /** The timers of the machine by default. */
  readonly every?: Every | undefined;
}

/** Delay in which events are collected before the directory is read, in milliseconds. */
const settleMs = 20;

/**
 * Interval of the check which directory the path leads to, in milliseconds. Events follow the directory that was there when they were requested,
 * so there is none for another directory in its place.
 */
export const placeCheckMs = 2000;

/**
 * Trigger for scans of a directory: soon after a file event, when its path leads to another directory, and at intervals without a hint, as
 * events get lost on network file systems. A hint is no more than that. Nothing here keeps the process alive.
 */
export class Watch {
  readonly #directory: string;
  readonly #scan: () => Promise<void>;
  #place: Place | undefined;
  #checking: Promise<void> | undefined;
  #watcher: FSWatcher | undefined;
  #stopTimers: readonly (() => void)[] = [];
  #settle: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #queued: Promise<void> | undefined;
  #closed = false;

  private constructor(directory: string, scan: () => Promise<void>) {
    this.#directory = directory;
    this.#scan = scan;
  }

  static async start(directory: string, options: WatchOptions): Promise<Watch> {
    const { every = everyInterval, events, intervalMs } = options;
    const watching = new Watch(directory, options.scan);
    const timers = [every(intervalMs, () => void watching.now())];
    if (events) {
      // Read before the first scan, so that later changes are noticed.
      watching.#place = await placeOf(directory, undefined);
      await watching.#follow();
      timers.push(every(placeCheckMs, () => void watching.check()));
    }
    watching.#stopTimers = timers;
    return watching;
  }

  /** Looks now, or right after the look that is under way. */
  now(): Promise<void> {
    if (this.#closed) return this.#running ?? Promise.resolve();
    if (this.#running === undefined) {
      this.#running = this.#run();
      return this.#running;
    }
    this.#queued ??= this.#running.then(() => {
      this.#queued = undefined;
      return this.now();
    });
    return this.#queued;
  }

  /** Looks when the path leads to another directory than before, or its list of files has changed. One check at a time. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stopTimers) stop();
    clearTimeout(this.#settle);
    await this.#checking;
    await this.#watcher?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      await this.#scan();
    } finally {
      this.#running = undefined;
    }
  }

  async #check(): Promise<void> {
    const before = this.#place;
    // Taken before the look: what changes meanwhile is found by the next check.
    const place = await placeOf(this.#directory, before);
    if (this.#closed || place.signature === before?.signature) return;
    this.#place = place;
    if (place.directory !== before?.directory) await this.#follow();
    await this.now();
  }

  /** Follows the events of the directory that the path leads to now. */
  async #follow(): Promise<void> {
    await this.#watcher?.close();
    this.#watcher = undefined;
    // Loaded on first use: an engine without file events needs no watcher.
    const { watch } = await import('chokidar');
    if (this.#closed || this.#place?.directory === undefined) return;
    const watcher = watch(this.#directory, {
      depth: 0,
      ignoreInitial: true,
      persistent: false,
      ignorePermissionErrors: true,
    });
    this.#watcher = watcher;
    watcher.on('all', () => this.#soon());
    // Not awaited: `ready` never comes under fake timers, such as Jest's. The scan finds what changed before events were followed.
    watcher.once('ready', () => void this.now());
    // If watching fails, as when the system has no more watches, the interval still applies.
    watcher.on('error', () => this.#soon());
  }

  #soon(): void {
    this.#settle ??= setTimeout(() => {
      this.#settle = undefined;
      void this.now();
    }, settleMs).unref();
  }
}

function everyInterval(intervalMs: number, act: () => void): () => void {
  const timer = setInterval(act, intervalMs).unref();
  return () => clearInterval(timer);
}
