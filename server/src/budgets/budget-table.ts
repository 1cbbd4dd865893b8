/** Budget of a key: milliseconds of work for each second, burst, and requests in flight. */
export interface BudgetLimits {
  readonly workMsPerSecond: number;
  readonly burstMs: number;
  readonly inFlight: number;
}

/** The state of one key. */
export interface Budget {
  /** Time at which the bucket is full again, on the caller's clock, in milliseconds; in the past: it is full. */
  fullAt: number;
  inFlight: number;
  /** True if the table has dropped it: its key has another one, or will. */
  isForgotten: boolean;
}

/** Keys of one table; a fresh one replaces nothing as long as there is a full bucket or a smaller debt elsewhere. */
const maxBudgets = 65_536;

/** Number of entries dropped at once where all are in use: one sort serves as many new keys. */
const droppedAtOnce = maxBudgets / 8;

/**
 * Token buckets by key. The state of a bucket is one number, the time at which it is full again (GCRA): a full one says nothing and is forgotten.
 * Where all `maxBudgets` are in use, those that owe least are forgotten: whoever brings new keys to have a bucket reset resets only those
 * that are worth least, and has to use every other one up more than that one.
 */
export class BudgetTable {
  readonly limits: BudgetLimits;
  readonly #budgets = new Map<string, Budget>();
  /** Time in which an empty bucket fills, in milliseconds. */
  readonly #windowMs: number;

  constructor(limits: BudgetLimits) {
    this.limits = limits;
    this.#windowMs = (limits.burstMs / limits.workMsPerSecond) * 1000;
  }

  get size(): number {
    return this.#budgets.size;
  }

  of(key: string, now: number): Budget {
    const known = this.#budgets.get(key);
    if (known !== undefined) return known;
    if (this.#budgets.size >= maxBudgets) this.#makeRoom(now);
    const budget = { fullAt: 0, inFlight: 0, isForgotten: false };
    this.#budgets.set(key, budget);
    return budget;
  }

  /** Milliseconds until the bucket is out of debt; 0 when it may be used now. */
  waitMs(budget: Budget, now: number): number {
    return Math.max(0, budget.fullAt - now - this.#windowMs);
  }

  /** Charges work (in microseconds) to the bucket, which may put it in debt, at most by one burst; a negative amount is given back. */
  charge(budget: Budget, microseconds: number, now: number): void {
    const from = Math.max(budget.fullAt, now);
    budget.fullAt = Math.min(from + microseconds / this.limits.workMsPerSecond, now + 2 * this.#windowMs);
  }

  #makeRoom(now: number): void {
    const idle = (budget: Budget) => budget.inFlight === 0;
    this.#forget((budget) => idle(budget) && budget.fullAt <= now);
    if (this.#budgets.size <= maxBudgets - droppedAtOnce) return;
    const due = Float64Array.from([...this.#budgets.values()].filter(idle), ({ fullAt }) => fullAt).sort();
    const limit = due[Math.min(droppedAtOnce, due.length) - 1] ?? Number.NEGATIVE_INFINITY;
    this.#forget((budget) => idle(budget) && budget.fullAt <= limit);
  }

  #forget(which: (budget: Budget) => boolean): void {
    for (const [key, budget] of this.#budgets) {
      if (!which(budget)) continue;
      budget.isForgotten = true;
      this.#budgets.delete(key);
    }
  }
}
