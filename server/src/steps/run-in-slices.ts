import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Steps } from './steps.ts';

/** Longer than this nobody waits, in milliseconds. */
const longestSlice = 4;

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
