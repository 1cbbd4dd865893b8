/** Work in slices: yields now and then, so that others can run in between. */
export type Steps<Result> = Generator<void, Result>;

/** Hook after each slice: a promise that resolves when to go on, or nothing to go on at once. */
export type Pause = () => Promise<void> | undefined;

/** Runs the work in one go. */
export function runAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Runs the work with pauses between its slices. */
export async function runWithPauses<Result>(steps: Steps<Result>, pause: Pause): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const paused = pause();
    if (paused !== undefined) await paused;
  }
}
