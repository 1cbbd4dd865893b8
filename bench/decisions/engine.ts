import type { Rule } from './workload.ts';

/** Answers whether the roles may do the action on the resource. */
export type Decide = (roles: readonly string[], action: string, resource: string) => boolean;

/** A way to decide: builds whatever it needs of the rules, or answers `undefined` when it cannot express them. */
export type Prepare = (rules: readonly Rule[]) => Promise<Decide | undefined>;
