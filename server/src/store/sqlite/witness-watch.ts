import { type FSWatcher, watch } from 'node:fs';
import { witnessFileOf } from './witness.ts';

/** Between two hints, in milliseconds: a burst of changes is looked at once. */
const pauseMs = 20;
/** Until a witness that was removed or replaced is watched again, in milliseconds. */
const rewatchMs = 1000;

/**
 * Hears of changes that any process of this machine makes to a store: each of them writes the witness before it is acknowledged. These are
 * hints beside the poll, which alone is relied on: a file system may tell nothing, and the system may be out of watches.
 */
export class WitnessWatch {
  readonly #file: string;
  readonly #onHint: () => void;
  #watcher: FSWatcher | undefined;
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
      const watcher = watch(this.#file, { persistent: false });
      watcher.on('change', (event) => (event === 'rename' ? this.#watchAgain() : this.#hint()));
      watcher.on('error', () => this.#watchAgain());
      this.#watcher = watcher;
    } catch {
      this.#watchAgain();
    }
  }

  /** What was missed meanwhile is a hint. */
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
