/** Work in slices: yields now and then, so that others can run in between. */
export type Steps<Result> = Generator<void, Result>;

/** How many small things are done between two yields. */
export const sliceLength = 1000;

export function runAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
