import type { Clock } from '@signet/policy-engine/clock';
import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { DomainName } from '@signet/policy-engine/names';
import { ConflictError } from '../errors.ts';
import { signingKeyFault } from '../model/jwk-thumbprint.ts';
import { type GapKind, isGap, isSameState, type StoreState } from '../model/snapshot-source.ts';
import type { SnapshotSource } from '../model/store.ts';
import { type CompiledSnapshot, compileInSteps, SnapshotBuilder } from './compile-snapshot.ts';
import type { Snapshot } from './snapshot.ts';

/** Divergence: the store has another history than this process knew, and published changes are gone. */
export interface Divergence {
  /** The last state of the history that is gone. */
  readonly known: StoreState;
  /** The state of the store when that was noticed. */
  readonly found: StoreState;
  /** The latest epoch that this process has seen: one past it ends the divergence. */
  readonly epoch: number;
}

/** Other history: the state read before does not lead to the store's present one. */
export interface OtherHistory {
  readonly state: StoreState;
  /** Divergence; absent where a new epoch announces it. */
  readonly divergence?: Divergence;
}

interface SnapshotStatus {
  readonly counter: number;
  /** Time at which the store was last seen unchanged, milliseconds since the epoch. */
  readonly refreshedAt: number;
  /** Reason why the snapshot may be behind; absent if it is not. */
  readonly error?: string;
  /** True if the last poll of the store succeeded. */
  readonly isStoreReadable: boolean;
  /** Divergence, from when another history was noticed until a later epoch begins. */
  readonly divergence?: Divergence;
}

/**
 * Snapshot as of what `source` reads, the store itself or one transaction of it: for rights that must be current. Throws what the source throws.
 */
export type SnapshotAt = (source: SnapshotSource) => Promise<Snapshot>;

/** Newest snapshot. It is kept while the store cannot be read. */
export interface LiveSnapshot {
  current(): Snapshot;
  readonly at: SnapshotAt;
  /** Updates the snapshot to the state of the store at the call. Throws what the store throws. */
  refresh(): Promise<void>;
  status(): SnapshotStatus;
  /** Called after each swap, with the new snapshot. */
  onSwap(listener: (snapshot: Snapshot) => void): void;
  /** Called with what each look at the store finds, before anything is read for it. */
  onLook(listener: (state: StoreState) => void): void;
  /** Called after the swap where the store has another history than the snapshot before: a new epoch, or without one. */
  onOtherHistory(listener: (history: OtherHistory) => void): void;
  /** Ends the refreshing; the last snapshot stays. */
  close(): Promise<void>;
}

interface LiveSnapshotDeps {
  readonly store: SnapshotSource;
  readonly clock: Clock;
  readonly refreshIntervalMs: number;
  /** Called for every poll of the store that fails (`isLook`), for every domain that cannot be used, and for listeners that throw. */
  readonly onError?: (error: unknown, isLook: boolean) => void;
  /** Called with the duration of each poll of the store, and whether the snapshot is up to date then. */
  readonly onRefresh?: ((seconds: number, isDone: boolean) => void) | undefined;
  /** Called after each look at the store for as long as a divergence lasts; the next look waits for it. */
  readonly whileDiverged?: (divergence: Divergence) => Promise<void>;
}

/** Loads the first snapshot, and then looks at the store every `refreshIntervalMs`. Throws when the store cannot be read at all. */
export async function openLiveSnapshot(deps: LiveSnapshotDeps): Promise<LiveSnapshot> {
  const { snapshot, problems } = await loadSnapshot(deps.store);
  requireOwnKeys(snapshot);
  for (const problem of problems) deps.onError?.(problem.error, false);
  return new PollingSnapshot(deps, snapshot);
}

/** Throws for a key in the name of another: it would be published, and what its holder signs believed. */
function requireOwnKeys({ signingKeys }: Pick<Snapshot, 'signingKeys'>): void {
  const fault = signingKeys.map(signingKeyFault).find((each) => each !== undefined);
  if (fault !== undefined) throw new ConflictError(`${fault}: run \`signet store check\`, and restore the store`);
}

/** Snapshot of everything, made part by part; the counts of the `last` one are kept. */
function loadSnapshot(source: SnapshotSource, last?: Snapshot): Promise<CompiledSnapshot> {
  return source.everything(async ({ state, signingKeys, domains }) => {
    const builder = new SnapshotBuilder(state, last);
    for await (const part of domains) {
      for (const domain of part) await runInSlices(builder.addInSteps(domain));
    }
    return builder.build(signingKeys);
  });
}

interface NewerSnapshot extends CompiledSnapshot {
  /** Reason why it shares nothing with the one before. */
  readonly gap?: GapKind;
}

/** Snapshot as of what `source` reads, sharing unchanged parts with `old`; undefined without changes. */
async function newerThan(
  old: Snapshot,
  source: SnapshotSource,
  onState?: (state: StoreState) => void,
): Promise<NewerSnapshot | undefined> {
  const state = await source.state();
  onState?.(state);
  if (isSameState(old, state)) return undefined;
  const knows = (name: DomainName) => old.domain(name) !== undefined && !old.outdatedDomains.has(name);
  const changes = await source.changesSince(old, knows);
  if (isGap(changes)) return { ...(await loadSnapshot(source, old)), gap: changes.gap };
  return runInSlices(compileInSteps(old, changes));
}

class PollingSnapshot implements LiveSnapshot {
  readonly #deps: LiveSnapshotDeps;
  readonly #listeners: ((snapshot: Snapshot) => void)[] = [];
  readonly #lookers: ((state: StoreState) => void)[] = [];
  readonly #historians: ((history: OtherHistory) => void)[] = [];
  #divergence: Divergence | undefined;
  #current: Snapshot;
  /** The last one that was made for a transaction which the poll is behind of. */
  #ahead: Snapshot | undefined;
  #refreshedAt: number;
  #storeError: string | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #closed = false;

  constructor(deps: LiveSnapshotDeps, snapshot: Snapshot) {
    this.#deps = deps;
    this.#current = snapshot;
    this.#refreshedAt = deps.clock.now();
    this.#schedule();
  }

  current(): Snapshot {
    return this.#current;
  }

  /** Made once for all who ask between two polls: with each change of the store, the first of them pays for it. */
  readonly at: SnapshotAt = async (source) => {
    const known = this.#newest();
    const newer = await newerThan(known, source);
    if (newer === undefined) return known;
    this.#ahead = newer.snapshot;
    // Until the poll has seen another history, each call loads everything. The refresh is not awaited: the caller may hold a connection.
    if (newer.gap !== undefined) this.refresh().catch(() => undefined);
    return newer.snapshot;
  };

  #newest(): Snapshot {
    const [current, ahead] = [this.#current, this.#ahead];
    return ahead?.epoch === current.epoch && ahead.counter > current.counter ? ahead : current;
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
    const { size } = this.#current.outdatedDomains;
    const outdated = size === 0 ? undefined : `${size} changed ${size === 1 ? 'domain' : 'domains'} cannot be used`;
    const error = this.#storeError ?? outdated;
    return {
      counter: this.#current.counter,
      refreshedAt: this.#refreshedAt,
      isStoreReadable: this.#storeError === undefined,
      ...(error !== undefined && { error }),
      ...(this.#divergence !== undefined && { divergence: this.#divergence }),
    };
  }

  onSwap(listener: (snapshot: Snapshot) => void): void {
    this.#listeners.push(listener);
  }

  onLook(listener: (state: StoreState) => void): void {
    this.#lookers.push(listener);
  }

  onOtherHistory(listener: (history: OtherHistory) => void): void {
    this.#historians.push(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running?.catch(() => undefined);
    await this.#next?.catch(() => undefined);
    await this.#looking;
  }

  #start(): Promise<void> {
    this.#running = this.#refreshOnce().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #refreshOnce(): Promise<void> {
    const started = performance.now();
    try {
      const before = this.#current;
      const newer = await this.#load();
      this.#deps.onRefresh?.((performance.now() - started) / 1000, true);
      this.#refreshedAt = this.#deps.clock.now();
      this.#storeError = undefined;
      if (newer === undefined) return;
      for (const listener of this.#listeners) this.#tell(() => listener(newer.snapshot));
      this.#followHistory(before, newer);
    } catch (error) {
      this.#storeError = error instanceof Error ? error.message : 'the store cannot be read';
      this.#deps.onRefresh?.((performance.now() - started) / 1000, false);
      this.#deps.onError?.(error, true);
      throw error;
    }
  }

  /** The new snapshot, now in force; undefined when nothing has changed. */
  async #load(): Promise<NewerSnapshot | undefined> {
    const { store, onError } = this.#deps;
    const newer = await newerThan(this.#current, store, (state) => {
      for (const listener of this.#lookers) this.#tell(() => listener(state));
    });
    if (newer === undefined) return undefined;
    const { snapshot, problems, gap } = newer;
    requireOwnKeys(snapshot);
    this.#current = snapshot;
    // Made of another history it is no longer ahead of this one.
    if (gap !== undefined) this.#ahead = undefined;
    for (const problem of problems) onError?.(problem.error, false);
    return newer;
  }

  /** INVARIANT: only a look at the store itself tells of its history; a transaction may be older than what is known already. */
  #followHistory(before: Snapshot, { snapshot, gap }: NewerSnapshot): void {
    if (gap === undefined || gap === 'distance') return;
    const state = stateOf(snapshot);
    const epoch = Math.max(this.#divergence?.epoch ?? 0, before.epoch);
    const isOver = state.epoch > epoch;
    if (isOver) this.#divergence = undefined;
    else if (gap === 'divergence') this.#divergence = { known: stateOf(before), found: state, epoch };
    const divergence = gap === 'divergence' ? this.#divergence : undefined;
    const history = { state, ...(divergence !== undefined && { divergence }) };
    for (const listener of this.#historians) this.#tell(() => listener(history));
  }

  /** A listener's fault is its own: the snapshot is swapped already. */
  #tell(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#deps.onError?.(error, false);
    }
  }

  /** Polls once. */
  async #look(): Promise<void> {
    await this.refresh();
    if (this.#divergence !== undefined && !this.#closed) await this.#deps.whileDiverged?.(this.#divergence);
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().catch(() => undefined);
      void this.#looking.then(() => this.#schedule());
    }, this.#deps.refreshIntervalMs);
    this.#timer.unref();
  }
}

function stateOf({ epoch, counter, head }: Snapshot): StoreState {
  return { epoch, counter, head };
}
