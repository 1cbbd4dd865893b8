/** Longest resource of a request, in UTF-16 code units; a longer one is `DENY_INVALID_PARAMETERS`. */
export const maxResourceLength = 4096;
/** Longest action of a request, in UTF-16 code units. */
export const maxActionLength = 256;
/** Longest text of an assertion that holds a wildcard, with its domain, in UTF-16 code units. */
export const maxPatternLength = 2048;
/** Maximum of wildcards (`*` and `?`) in one pattern. */
export const maxWildcards = 64;
/** Work of one decision, in units of about one compared character: about a millisecond. What needs more is `DENY_BUDGET_EXCEEDED`. */
export const maxWork = 200_000;

/** Work of one explanation beyond its decision: what needs more says nothing of near misses and changes. */
export const maxExplainWork = 10_000_000;

/** Thrown by `Work.spend` and caught by the decision that it belongs to. */
export class WorkExceededError extends Error {
  override readonly name = 'WorkExceededError';
}

/** Counts what a decision costs, so that no policy can make one cost more than `maxWork`. */
export class Work {
  readonly #limit: number;
  #left: number;

  constructor(limit: number = maxWork) {
    this.#limit = limit;
    this.#left = limit;
  }

  /** Work spent so far. */
  get spent(): number {
    return this.#limit - this.#left;
  }

  /** Work left to spend. */
  get remaining(): number {
    return this.#left;
  }

  /** Throws `WorkExceededError` once more than the limit is spent. */
  spend(units: number): void {
    this.#left -= units;
    if (this.#left < 0) throw new WorkExceededError('the policy exceeds the work limit of a decision');
  }
}

/** Unlimited budget, for comparisons outside of decisions. */
export const unlimited: Work = new Work(Number.POSITIVE_INFINITY);
