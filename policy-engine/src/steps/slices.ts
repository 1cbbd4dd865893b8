import { setImmediate as nextCheck } from 'node:timers/promises';
import { type Pause, runWithPauses, type Steps } from './steps.ts';

/** Maximum delay of other work by one slice, in milliseconds. */
const maxSliceMs = 4;

/** Runs the work a few milliseconds at a time; waiting events are handled in between. */
export function runInSlices<Result>(steps: Steps<Result>): Promise<Result> {
  return runWithPauses(steps, pauseBetweenSlices());
}

/** Pauses once the work since the last pause took a few milliseconds. */
export function pauseBetweenSlices(): Pause {
  let start = performance.now();
  return () => {
    if (performance.now() - start < maxSliceMs) return undefined;
    return yieldToOthers().then(() => {
      start = performance.now();
    });
  };
}

/**
 * Resolves once everything that waits in the event loop had a turn. One `setImmediate` is not enough: made while sockets are read, it comes before the
 * sockets are looked at again, and two slices hold the loop as one.
 */
export async function yieldToOthers(): Promise<void> {
  await nextCheck();
  await nextCheck();
}
