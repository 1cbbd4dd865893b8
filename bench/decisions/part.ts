import type { PartContext, PartReport } from '../measure/figure.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { countDecisions } from './count-plans.ts';
import { type EngineName, handCoded } from './engines/index.ts';
import { decisionFigures } from './figures.ts';
import { growthFigure } from './growth.ts';
import { type Effort, measurePlan, type PlanResult } from './measure-plan.ts';
import { decisionTables } from './tables.ts';
import { tokenDecisions } from './token-decisions.ts';
import { kinds, layouts, type WorkloadPlan } from './workload.ts';

const byHand: readonly EngineName[] = ['ours', ...handCoded.bare, ...handCoded.ofDomain];
const all: readonly EngineName[] = [...byHand, 'CASL', 'casbin', 'Cedar'];

/** Decisions a second of processor time, ours against hand-coded look-ups and three engines. */
export async function decisionsPart({ quick, counter }: PartContext): Promise<PartReport> {
  const effort: Effort = quick
    ? { rounds: 9, cpuMs: 40, peerLimitMs: 20_000, batches: 500 }
    : { rounds: 5, cpuMs: 100, peerLimitMs: 60_000, batches: 10_000 };
  const results: PlanResult[] = [];
  for (const plan of plansOf(quick)) {
    console.error(`decisions: ${plan.size}, ${plan.layout}, ${plan.kind}`);
    results.push(...(await measurePlan(plan, quick ? byHand : all, effort)));
  }
  const figures = [...decisionFigures(results), await growthFigure(effort)];
  const counted = counter && (await countDecisions(counter));
  const tokens = await tokenDecisions(quick, counter);
  const rows = figures.map(({ title, value, aim }) => [
    title,
    formatSpread(value),
    aim === undefined ? '' : verdict(value.median, aim.value, aim.kind),
  ]);
  const blocks = [
    '## Decisions',
    markdownTable(['figure', 'ratio', 'aim'], rows),
    decisionTables(results),
    ...(counted === undefined ? [] : [counted.markdown]),
    tokens.markdown,
  ];
  return {
    markdown: blocks.join('\n\n'),
    figures: [...figures, ...(counted?.figures ?? []), ...tokens.figures],
  };
}

function plansOf(quick: boolean): readonly WorkloadPlan[] {
  const sizes = quick ? [10, 1000] : [10, 1000, 10_000, 100_000];
  return kinds.flatMap((kind) => layouts.flatMap((layout) => sizes.map((size) => ({ kind, layout, size }))));
}
