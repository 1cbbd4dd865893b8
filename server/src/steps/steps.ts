import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work in slices: yields now and then, so that others can run in between. */
export type Steps<Result> = Generator<void, Result>;

/** How many small things are done between two yields. */
export const sliceLength = 1000;

/** Longer than this nobody waits, in milliseconds. */
const longestSlice = 4;

export function runAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Runs the work a few milliseconds at a time; whatever waits in the event loop comes in between. */
export async function runInSlices<Result>(steps: Steps<Result>): Promise<Result> {
  let start = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - start < longestSlice) continue;
    await nextTurn();
    start = performance.now();
  }
}
