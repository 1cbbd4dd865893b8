import type { PartContext, PartReport } from '../measure/figure.ts';
import type { EngineName } from './engines/index.ts';
import { type Effort, measurePlan, type PlanResult } from './measure-plan.ts';
import { decisionTables } from './tables.ts';
import { tokenDecisions } from './token-decisions.ts';
import { kinds, layouts, type WorkloadPlan } from './workload.ts';

const names: readonly EngineName[] = ['ours', 'hand-coded map', 'hand-coded scan', 'CASL', 'casbin', 'Cedar'];

/** Decisions a second of processor time, ours against hand-coded look-ups and three engines. */
export async function decisionsPart({ quick }: PartContext): Promise<PartReport> {
  const effort: Effort = quick
    ? { rounds: 3, cpuMs: 50, peerLimitMs: 20_000, batches: 2000 }
    : { rounds: 3, cpuMs: 100, peerLimitMs: 60_000, batches: 10_000 };
  const results: PlanResult[] = [];
  for (const plan of plansOf(quick)) {
    console.error(`decisions: ${plan.size}, ${plan.layout}, ${plan.kind}`);
    results.push(...(await measurePlan(plan, names, effort)));
  }
  const tokens = await tokenDecisions(quick);
  return { markdown: ['## Decisions', decisionTables(results), tokens.markdown].join('\n\n'), figures: tokens.figures };
}

function plansOf(quick: boolean): readonly WorkloadPlan[] {
  const sizes = quick ? [10, 10_000] : [10, 1000, 10_000, 100_000];
  return kinds.flatMap((kind) => layouts.flatMap((layout) => sizes.map((size) => ({ kind, layout, size }))));
}
