import { FairQueue } from './fair-queue.ts';

/** Mutual exclusion with fair lanes: round robin over the lanes, however much waits in each. */
export class FairTurns {
  readonly #waiting = new FairQueue<() => void>({
    places: Number.POSITIVE_INFINITY,
    laneShare: Number.POSITIVE_INFINITY,
  });
  #isBusy = false;

  /** Runs `work` when it is the lane's turn. Throws what it throws. */
  async run<Result>(lane: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#isBusy) {
      await new Promise<void>((resolve) => this.#waiting.add(lane, resolve));
    } else {
      this.#isBusy = true;
      this.#waiting.take(lane);
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.next();
      if (next === undefined) this.#isBusy = false;
      else next();
    }
  }
}
