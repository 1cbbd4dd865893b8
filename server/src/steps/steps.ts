export { runAtOnce, type Steps } from '@signet/policy-engine/internal/steps';

/** How many small things are done between two yields. */
export const sliceLength = 1000;
