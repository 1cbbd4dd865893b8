import type { Clock } from '@signet/policy-engine/clock';
import type { DomainName } from '@signet/policy-engine/names';
import type { SnapshotSource } from '../store/store.ts';
import { compileInSteps } from './compile-snapshot.ts';
import type { Snapshot } from './snapshot.ts';
import { runInSlices } from './steps.ts';

export interface SnapshotStatus {
  readonly counter: number;
  /** When the store was last seen to say the same, milliseconds since the epoch. */
  readonly refreshedAt: number;
  /** Why the snapshot may be behind; absent when it is not. */
  readonly error?: string;
}

/** The newest snapshot that could be made. It goes on answering from the last one while the store cannot be read. */
export interface LiveSnapshot {
  current(): Snapshot;
  /** Brings the snapshot up to what the store says when this is called. Throws what the store throws. */
  refresh(): Promise<void>;
  status(): SnapshotStatus;
  /** Called after each swap, with the new snapshot. */
  onSwap(listener: (snapshot: Snapshot) => void): void;
  /** Ends the refreshing; the last snapshot stays. */
  close(): Promise<void>;
}

export interface LiveSnapshotDeps {
  readonly store: SnapshotSource;
  readonly clock: Clock;
  readonly refreshIntervalMs: number;
  /** Told of every failure to refresh, and of every domain that cannot be used. */
  readonly onError?: (error: unknown) => void;
}

/** Loads the first snapshot, and then looks at the store every `refreshIntervalMs`. Throws when the store cannot be read at all. */
export async function openLiveSnapshot(deps: LiveSnapshotDeps): Promise<LiveSnapshot> {
  const { snapshot, problems } = await runInSlices(compileInSteps(undefined, await deps.store.changesSince()));
  for (const problem of problems) deps.onError?.(problem.error);
  return new PollingSnapshot(deps, snapshot, problems.length);
}

class PollingSnapshot implements LiveSnapshot {
  readonly #deps: LiveSnapshotDeps;
  readonly #listeners: ((snapshot: Snapshot) => void)[] = [];
  #current: Snapshot;
  #refreshedAt: number;
  #storeError: string | undefined;
  #unusable: number;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(deps: LiveSnapshotDeps, snapshot: Snapshot, unusable: number) {
    this.#deps = deps;
    this.#current = snapshot;
    this.#refreshedAt = deps.clock.now();
    this.#unusable = unusable;
    this.#schedule();
  }

  current(): Snapshot {
    return this.#current;
  }

  /** A refresh that runs already may have looked before the caller's change: then another one follows it. */
  refresh(): Promise<void> {
    if (this.#running === undefined) return this.#start();
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.#start();
      });
    return this.#next;
  }

  status(): SnapshotStatus {
    const unusable =
      this.#unusable === 0
        ? undefined
        : `${this.#unusable} changed ${this.#unusable === 1 ? 'domain' : 'domains'} cannot be used`;
    const error = this.#storeError ?? unusable;
    return {
      counter: this.#current.counter,
      refreshedAt: this.#refreshedAt,
      ...(error === undefined ? {} : { error }),
    };
  }

  onSwap(listener: (snapshot: Snapshot) => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running?.catch(() => undefined);
    await this.#next?.catch(() => undefined);
  }

  #start(): Promise<void> {
    this.#running = this.#refreshOnce().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #refreshOnce(): Promise<void> {
    try {
      const changed = await this.#load();
      this.#refreshedAt = this.#deps.clock.now();
      this.#storeError = undefined;
      if (changed) for (const listener of this.#listeners) this.#tell(listener);
    } catch (error) {
      this.#storeError = error instanceof Error ? error.message : 'the store cannot be read';
      this.#deps.onError?.(error);
      throw error;
    }
  }

  /** True when there is a new snapshot. */
  async #load(): Promise<boolean> {
    const { store, onError } = this.#deps;
    const [old, state] = [this.#current, await store.state()];
    if (state.epoch === old.epoch && state.counter === old.counter) return false;
    // Another epoch, or a counter that went back, is another store: nothing of the old one counts.
    const continues = state.epoch === old.epoch && state.counter > old.counter;
    const versionOf = (name: DomainName) => old.domain(name)?.version;
    const changes = continues ? await store.changesSince(old.counter, versionOf) : await store.changesSince();
    const { snapshot, problems } = await runInSlices(compileInSteps(continues ? old : undefined, changes));
    this.#current = snapshot;
    this.#unusable = problems.length;
    for (const problem of problems) onError?.(problem.error);
    return true;
  }

  /** A listener's fault is its own: the snapshot is swapped already. */
  #tell(listener: (snapshot: Snapshot) => void): void {
    try {
      listener(this.#current);
    } catch (error) {
      this.#deps.onError?.(error);
    }
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.refresh().then(
        () => this.#schedule(),
        () => this.#schedule(),
      );
    }, this.#deps.refreshIntervalMs);
    this.#timer.unref();
  }
}
