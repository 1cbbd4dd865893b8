import type { AccessChange, ImpactTotals } from '../impact/impact.ts';
import type { ObjectChange } from './object-changes.ts';

/** Totals of a plan. A wildcard counts as one principal. */
export interface PlanTotals {
  readonly add: number;
  readonly change: number;
  readonly remove: number;
  /** Access totals; absent when the impact cannot be told. */
  readonly access?: AccessTotals;
}

interface AccessTotals {
  /** Principals that gain some access, and those that lose some. */
  readonly gain: number;
  readonly lose: number;
  /** False if the numbers are lower bounds. */
  readonly isExact: boolean;
}

/** Counts what a plan lists, in one domain or in all. Pure. */
export function planTotals(
  changes: readonly ObjectChange[],
  impact: readonly AccessChange[] | undefined,
  impactTotals?: ImpactTotals,
): PlanTotals {
  const count = (kind: ObjectChange['change']) =>
    changes.filter((change) => change.change === kind && isCounted(change));
  return {
    add: count('create').length,
    change: count('change').length,
    remove: count('delete').length,
    ...(impact !== undefined && {
      access: {
        gain: principals(impact, 'gain'),
        lose: principals(impact, 'loss'),
        isExact: impactTotals === undefined,
      },
    }),
  };
}

/** A policy whose assertions alone change is counted by them. */
function isCounted({ kind, change, fields }: ObjectChange): boolean {
  return kind !== 'policy' || change !== 'change' || fields !== undefined;
}

function principals(impact: readonly AccessChange[], kind: AccessChange['change']): number {
  const of = impact.filter(({ change }) => change === kind);
  return new Set(of.map(({ principal, within = '' }) => `${principal} ${within}`)).size;
}
