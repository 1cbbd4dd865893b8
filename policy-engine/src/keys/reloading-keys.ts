import type { CryptoKey } from 'jose';
import type { Clock } from '../clock.ts';
import { PolicyEngineError } from '../errors.ts';
import { parseStrictJson } from '../json/strict-json.ts';
import type { JwkList, KeyPurpose } from '../wire/index.ts';
import { type DecodedKeys, decodeJwkList, noUsableKey } from './decode-jwk.ts';
import { type KeyRules, type KeySource, sharesKey, staticKeys } from './key-source.ts';

interface ReloadOptions {
  /** Gets the text of the key set; what it does after the signal is of no interest. */
  load: (signal: AbortSignal) => Promise<string>;
  /** Name of the source in errors, such as its address. */
  place: string;
  clock: Clock;
  /** Unknown names lead to one look in this time at most, in milliseconds. */
  pauseMs: number;
  /** Interval of unsolicited refreshes, in milliseconds. */
  refreshIntervalMs: number;
  /** A look that takes longer has failed, in milliseconds. */
  timeoutMs: number;
  rules?: KeyRules;
  /** Keys of an earlier run, for the case that the first look fails. */
  kept?: JwkList | undefined;
  /** Refuse keys that have none in common with those before. A place that only the operator changes needs no such care. */
  mustShareKey?: boolean;
  /** Stores the keys of a good refresh for the next run. */
  keep?: ((keys: JwkList) => Promise<void>) | undefined;
}

interface Known {
  readonly list: DecodedKeys;
  readonly source: KeySource;
  /** Each key as text, by its name: to see which ones were withdrawn. */
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * Keys that are refreshed at an interval, and when an unknown name turns up: one refresh at a time, and for unknown names at most one in
 * `pauseMs`, however many are asked for. A refresh that fails, that finds no key, or that finds keys of another issuer leaves the known keys in
 * force.
 */
export class ReloadingKeys implements KeySource {
  readonly #options: ReloadOptions;
  readonly #closed = new AbortController();
  #known: Known | undefined;
  #revision = 0;
  #error: PolicyEngineError | undefined;
  #begun = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  private constructor(options: ReloadOptions) {
    this.#options = options;
    if (options.kept !== undefined) this.#known = knownOf(decodeJwkList(options.kept, options.rules));
  }

  /** Looks once. Throws `PolicyEngineError` (`keys-unavailable`) when there are no keys then. */
  static async open(options: ReloadOptions): Promise<ReloadingKeys> {
    const keys = new ReloadingKeys(options);
    await keys.refresh();
    if (keys.#known === undefined) throw keys.#error ?? failure(options.place, 'there are none');
    keys.#timer = setInterval(() => void keys.refresh(), options.refreshIntervalMs);
    letProcessEnd(keys.#timer);
    return keys;
  }

  get revision(): number {
    return this.#revision;
  }

  get error(): PolicyEngineError | undefined {
    return this.#error;
  }

  get leftOut(): readonly string[] {
    return this.#known?.list.leftOut ?? [];
  }

  async find(kid: string, purpose: KeyPurpose): Promise<CryptoKey | undefined> {
    const found = await this.#known?.source.find(kid, purpose);
    if (found !== undefined) return found;
    if (this.#running === undefined && !this.#mayLook()) return undefined;
    await this.refresh();
    return this.#known?.source.find(kid, purpose);
  }

  /** Looks now, or joins the look that is under way. Never rejects. */
  refresh(): Promise<void> {
    this.#running ??= this.#look().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Stops looking. The keys that are known stay usable. */
  close(): void {
    clearInterval(this.#timer);
    this.#closed.abort();
  }

  /** A clock that was set back begins a new pause, lest it be one that lasts. */
  #mayLook(): boolean {
    const now = this.#options.clock.now();
    if (now < this.#begun) this.#begun = now;
    return now - this.#begun >= this.#options.pauseMs;
  }

  async #look(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    const { load, clock, place, timeoutMs, keep, rules } = this.#options;
    this.#begun = clock.now();
    try {
      const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(timeoutMs)]);
      const list = decodeJwkList(parseStrictJson(await Promise.race([load(signal), ended(signal)])), rules);
      if (list.keys.length === 0) throw noUsableKey(list);
      this.#requireShared(list);
      this.#take(knownOf(list));
      this.#error = undefined;
      await keep?.({ keys: list.keys });
    } catch (cause) {
      this.#error = failure(
        place,
        cause instanceof PolicyEngineError ? cause.message : 'the place does not answer',
        cause,
      );
    }
  }

  #requireShared(list: JwkList): void {
    if (this.#options.mustShareKey !== true || this.#known === undefined || sharesKey(this.#known.list, list)) return;
    throw new PolicyEngineError(
      'keys-replaced',
      'none of the keys was known before; if they were replaced on purpose, remove what is kept of the old ones and start again',
    );
  }

  #take(next: Known): void {
    const isSubset = [...(this.#known?.texts ?? [])].every(([kid, text]) => next.texts.get(kid) === text);
    if (!isSubset) this.#revision += 1;
    this.#known = next;
  }
}

/** Rejects when the signal comes, also for those that do not heed it. */
function ended(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function knownOf(list: DecodedKeys): Known {
  return { list, source: staticKeys(list), texts: new Map(list.keys.map((jwk) => [jwk.kid, JSON.stringify(jwk)])) };
}

function failure(place: string, problem: string, cause?: unknown): PolicyEngineError {
  const code = cause instanceof PolicyEngineError && cause.code === 'keys-replaced' ? cause.code : 'keys-unavailable';
  const verb = code === 'keys-replaced' ? 'are refused' : 'cannot be had';
  return new PolicyEngineError(code, `keys of ${place} ${verb}: ${problem}`, { cause });
}

/** Timers of Node keep the process alive unless told otherwise; those of browsers are numbers. */
function letProcessEnd(timer: { unref?(): void }): void {
  timer.unref?.();
}
