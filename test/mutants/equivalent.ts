import type { Equivalent } from './mutant.ts';

/** Mutations that no test can notice, each with its reason. `npm run mutants` says which entries match no mutation any more. */
export const equivalent: readonly Equivalent[] = [];
