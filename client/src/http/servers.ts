import type { Clock } from '@signet/policy-engine/clock';

/** Time for which a failed server is asked only if no other is left, in milliseconds. */
const restMs = 30_000;

/** The servers of a client in the order of preference. Those that failed lately come last. */
export class Servers {
  readonly #baseUrls: readonly string[];
  readonly #clock: Clock;
  readonly #restUntil = new Map<string, number>();

  constructor(baseUrls: readonly string[], clock: Clock) {
    this.#baseUrls = baseUrls;
    this.#clock = clock;
  }

  /** All servers, the preferred one first. */
  inOrder(): readonly string[] {
    const now = this.#clock.now();
    const rests = (url: string) => {
      const left = (this.#restUntil.get(url) ?? 0) - now;
      // A longer rest is one from before the clock was set back.
      return left > 0 && left <= restMs;
    };
    return [...this.#baseUrls.filter((url) => !rests(url)), ...this.#baseUrls.filter(rests)];
  }

  failed(url: string): void {
    this.#restUntil.set(url, this.#clock.now() + restMs);
  }

  answered(url: string): void {
    this.#restUntil.delete(url);
  }
}
