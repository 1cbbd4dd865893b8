import { costs } from '../budgets/costs.ts';
import type { Compared } from '../roles/granted-roles.ts';

/** Charges the caller for the cost of decisions, in units of `maxWork` of the engine. */
export function comparedFor({ state }: { readonly state: { work: number } }): Compared {
  return (work) => {
    state.work += work * costs.comparison;
  };
}
