/** Bounds on the cost of finding an impact, and on the listed part of it. */
export interface ImpactBounds {
  /** Steps of a few nanoseconds each. */
  readonly maxSteps: number;
  /** Things that are kept while it is found, of about a hundred bytes each. */
  readonly maxKept: number;
  /** Changes of access that are listed; the others are counted. */
  readonly maxListed: number;
  /** The same in characters of JSON: a change can name thousands of patterns. */
  readonly maxListedCharacters: number;
}

/** Bounds for small inputs: everything is listed, whatever it costs. */
export const noBounds: ImpactBounds = {
  maxSteps: Number.POSITIVE_INFINITY,
  maxKept: Number.POSITIVE_INFINITY,
  maxListed: Number.POSITIVE_INFINITY,
  maxListedCharacters: Number.POSITIVE_INFINITY,
};

/** Bounds of a plan and of a dry run: some seconds, less than a hundred megabytes, and an answer that a person can still read. */
export const usualBounds: ImpactBounds = {
  maxSteps: 500_000_000,
  maxKept: 200_000,
  maxListed: 1000,
  maxListedCharacters: 1_000_000,
};

/** The bounds of the work were reached. What was found before still holds. */
export class ImpactTooLargeError extends Error {
  override readonly name = 'ImpactTooLargeError';
}

/** Counts what finding an impact costs. Counted work, not time: the same question has the same answer on every machine. */
export class Work {
  readonly bounds: ImpactBounds;
  #steps = 0;
  #kept = 0;

  constructor(bounds: ImpactBounds = noBounds) {
    this.bounds = bounds;
  }

  /** Throws `ImpactTooLargeError` past the bound. */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.bounds.maxSteps) throw new ImpactTooLargeError('the impact analysis takes too many steps');
  }

  /** The same for what is kept to the end. */
  keep(things: number): void {
    this.#kept += things;
    if (this.#kept > this.bounds.maxKept) throw new ImpactTooLargeError('the impact analysis takes too much memory');
  }

  /** Cost so far. */
  cost(): { readonly steps: number; readonly kept: number } {
    return { steps: this.#steps, kept: this.#kept };
  }
}
