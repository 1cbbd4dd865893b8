import { type FSWatcher, watch } from 'chokidar';

export interface WatchOptions {
  /** Looks at the directory. Called by one at a time. */
  readonly scan: () => Promise<void>;
  readonly intervalMs: number;
  /** Whether file events are followed. */
  readonly events: boolean;
}

/** How long events are collected before the directory is looked at, in milliseconds. */
const settleMs = 20;

/**
 * Says when to look at a directory: soon after a file event, and now and then without one, as events get lost on network
 * file systems. An event is a hint only. Nothing here keeps the process alive.
 */
export class Watch {
  readonly #scan: () => Promise<void>;
  #watcher: FSWatcher | undefined;
  #interval: NodeJS.Timeout | undefined;
  #settle: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #queued: Promise<void> | undefined;
  #closed = false;

  private constructor(scan: () => Promise<void>) {
    this.#scan = scan;
  }

  static async start(directory: string, options: WatchOptions): Promise<Watch> {
    const watching = new Watch(options.scan);
    if (options.events) await watching.#follow(directory);
    watching.#interval = setInterval(() => void watching.now(), options.intervalMs).unref();
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

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#interval);
    clearTimeout(this.#settle);
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

  async #follow(directory: string): Promise<void> {
    const watcher = watch(directory, {
      depth: 0,
      ignoreInitial: true,
      persistent: false,
      ignorePermissionErrors: true,
    });
    this.#watcher = watcher;
    watcher.on('all', () => this.#soon());
    // What cannot be watched is still looked at now and then.
    watcher.on('error', () => this.#soon());
    await new Promise<void>((resolve) => watcher.once('ready', resolve));
  }

  #soon(): void {
    if (this.#closed) return;
    this.#settle ??= setTimeout(() => {
      this.#settle = undefined;
      void this.now();
    }, settleMs).unref();
  }
}
