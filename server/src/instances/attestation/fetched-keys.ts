import type { Clock } from '@signet/policy-engine/clock';
import { type CompactVerifyGetKey, errors } from 'jose';

/** Age after which keys are fetched again; an unknown key fetches at once. */
const freshMs = 600_000;
/** Maximum age of cached keys if a fetch fails. */
const usableMs = 3_600_000;
/** Minimum pause between two fetches, whatever comes. */
const pauseMs = 10_000;

interface FetchedKeysDeps {
  /** Fetches the keys, in bounded time. */
  readonly load: () => Promise<CompactVerifyGetKey>;
  readonly clock: Clock;
  /** Error for a token whose key is needed while none can be fetched. */
  readonly unavailable: (cause: unknown) => Error;
}

/**
 * Key source of a foreign issuer: fetched when the first token comes, so that a server starts without its issuer. After a failure it is fetched
 * again after a pause, and tokens with a known key do not wait for it.
 */
export function fetchedKeys(deps: FetchedKeysDeps): CompactVerifyGetKey {
  const keys = new FetchedKeys(deps);
  return async (header, token) => {
    await keys.renew();
    const known = keys.current();
    try {
      return await known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (await keys.areOthers(known)) return keys.current()(header, token);
      throw keys.fault ?? error;
    }
  };
}

interface KnownKeys {
  readonly find: CompactVerifyGetKey;
  readonly at: number;
}

class FetchedKeys {
  readonly #deps: FetchedKeysDeps;
  #known: KnownKeys | undefined;
  #failure: { readonly cause: unknown } | undefined;
  #asking: Promise<void> | undefined;
  /** Time when the last attempt ended. */
  #triedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: FetchedKeysDeps) {
    this.#deps = deps;
  }

  /** The error of the last attempt, where it failed. */
  get fault(): Error | undefined {
    return this.#failure && this.#deps.unavailable(this.#failure.cause);
  }

  current(): CompactVerifyGetKey {
    if (this.#known !== undefined && this.#isUsable) return this.#known.find;
    throw this.#deps.unavailable(this.#failure?.cause);
  }

  /** Fetches the keys if they are not fresh. */
  async renew(): Promise<void> {
    if (this.#known !== undefined && this.#ageOf(this.#known.at) < freshMs) return;
    const isWaitedFor = this.#failure === undefined || !this.#isUsable;
    const asked = this.#ask();
    if (isWaitedFor) await asked;
  }

  /** Fetches for an unknown key; returns whether there are other keys than those, whoever fetched them. */
  async areOthers(than: CompactVerifyGetKey): Promise<boolean> {
    await this.#ask();
    return this.#known?.find !== than;
  }

  get #isUsable(): boolean {
    return this.#known !== undefined && this.#ageOf(this.#known.at) < usableMs;
  }

  /** A clock that was set back makes nothing young. */
  #ageOf(at: number): number {
    return Math.abs(this.#deps.clock.now() - at);
  }

  /** Starts or joins a fetch; does nothing in the pause. Never rejects. */
  #ask(): Promise<void> | undefined {
    if (this.#asking === undefined && this.#ageOf(this.#triedAt) < pauseMs) return undefined;
    this.#asking ??= this.#load();
    return this.#asking;
  }

  async #load(): Promise<void> {
    const { load, clock } = this.#deps;
    try {
      this.#known = { find: await load(), at: clock.now() };
      this.#failure = undefined;
    } catch (cause) {
      this.#failure = { cause };
    } finally {
      this.#triedAt = clock.now();
      this.#asking = undefined;
    }
  }
}
