import { type FSWatcher, watch } from 'node:fs';
import { type FileIdentity, fileIdentity } from './file-checks.ts';
import { witnessFileOf } from './witness.ts';

/** Pause between two hints, in milliseconds: a burst of changes is read at once. */
const pauseMs = 20;
/** Delay until a witness that was removed or replaced is watched again, in milliseconds. */
const rewatchMs = 1000;

/**
 * Hears of changes that any process of this machine makes to a store: each of them writes the witness before it is acknowledged. These are
 * hints beside the poll, which alone is relied on: a file system may tell nothing, and the system may be out of watches.
 */
export class WitnessWatch {
  readonly #file: string;
  readonly #onHint: () => void;
  #watcher: FSWatcher | undefined;
  #watched: FileIdentity | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasMore = false;
  #isClosed = false;

  constructor(storeFile: string, onHint: () => void) {
    this.#file = witnessFileOf(storeFile);
    this.#onHint = onHint;
    this.#watch();
  }

  close(): void {
    this.#isClosed = true;
    this.#watcher?.close();
    clearTimeout(this.#timer);
  }

  #watch(): void {
    try {
      // Before it is watched: one that takes its place meanwhile is noticed with its first change.
      this.#watched = fileIdentity(this.#file);
      const watcher = watch(this.#file, { persistent: false });
      watcher.on('change', () => (this.#isInPlace() ? this.#hint() : this.#watchAgain()));
      watcher.on('error', () => this.#watchAgain());
      this.#watcher = watcher;
    } catch {
      this.#watchAgain();
    }
  }

  /** True if the open file still has its name: a file that is replaced while open only reports changed attributes. */
  #isInPlace(): boolean {
    const found = fileIdentity(this.#file);
    return found?.device === this.#watched?.device && found?.inode === this.#watched?.inode;
  }

  /** Renews the watch, and signals once for events missed meanwhile. */
  #watchAgain(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#after(rewatchMs, () => {
      this.#watch();
      if (this.#watcher !== undefined) this.#hint();
    });
  }

  #hint(): void {
    this.#hasMore = true;
    if (this.#timer !== undefined) return;
    this.#hasMore = false;
    this.#after(pauseMs, () => {
      if (this.#hasMore) this.#hint();
    });
    this.#onHint();
  }

  #after(milliseconds: number, run: () => void): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      run();
    }, milliseconds);
    this.#timer.unref();
  }
}
