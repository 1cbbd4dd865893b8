import { TooManyRequestsError } from '../errors.ts';

/** Soon: what one asks for is over within seconds. */
const retryAfterSeconds = 2;

/** Limit of one concurrent operation of a kind per caller, so that none takes all capacity. */
export class OneAtATime {
  readonly #what: string;
  readonly #busy = new Set<string>();

  /** `what` is named when a second one is refused, such as `dry run`. */
  constructor(what: string) {
    this.#what = what;
  }

  /** Throws `TooManyRequestsError` while an earlier one of the same principal runs, and what `work` throws. */
  async run<Result>(principal: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#busy.has(principal)) {
      throw new TooManyRequestsError(`only one ${this.#what} at a time: wait until the current one has finished`, {
        retryAfterSeconds,
      });
    }
    this.#busy.add(principal);
    try {
      return await work();
    } finally {
      this.#busy.delete(principal);
    }
  }
}
