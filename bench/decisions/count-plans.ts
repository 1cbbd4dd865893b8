import type { Figure } from '../measure/figure.ts';
import type { InstructionCounter } from '../measure/instructions.ts';
import { formatNumber, markdownTable } from '../measure/report.ts';
import { spreadOf } from '../measure/statistics.ts';
import { handCoded } from './engines/index.ts';
import { startWorker } from './worker-process.ts';
import { kinds, type Mix, type WorkloadPlan } from './workload.ts';

/** Where ours is furthest behind what is written by hand. */
const mixesCounted: readonly Mix[] = ['hit, 1 role', 'miss, 1 role'];
const sizes = [10, 1000];
const longMs = 600_000;

/** Instructions of a decision by the name of the engine. */
type Counts = ReadonlyMap<string, number>;

interface Cell {
  readonly plan: WorkloadPlan;
  readonly mix: Mix;
  readonly counts: Counts;
}

/** Instructions of decisions for callers with one role, ours beside the hand-coded engines. */
export async function countDecisions(
  counter: InstructionCounter,
): Promise<{ readonly markdown: string; readonly figures: readonly Figure[] }> {
  const cells: Cell[] = [];
  for (const kind of kinds) {
    for (const size of sizes) cells.push(...(await countPlan({ kind, layout: 'many roles', size }, counter)));
  }
  const rows = cells.map(({ plan, mix, counts }) => [
    plan.kind,
    plan.size.toLocaleString('en-US'),
    mix,
    ...engines.map((engine) => formatNumber(counts.get(engine) ?? Number.NaN)),
  ]);
  return {
    markdown: [
      '### Instructions of a decision (many roles)',
      markdownTable(['kind', 'assertions', 'requests', ...engines], rows),
    ].join('\n\n'),
    figures: cells.map(figureOf),
  };
}

const engines = ['ours', ...handCoded.bare] as const;

async function countPlan(plan: WorkloadPlan, { folder, wrapper }: InstructionCounter): Promise<readonly Cell[]> {
  const counts = new Map<Mix, Map<string, number>>(mixesCounted.map((mix) => [mix, new Map()]));
  for (const engine of engines) {
    const worker = await startWorker(engine, plan, longMs, wrapper);
    if (worker === undefined) continue;
    for (const mix of mixesCounted) counts.get(mix)?.set(engine, await worker.count(mix, folder));
    worker.close();
  }
  return [...counts].map(([mix, ofMix]) => ({ plan, mix, counts: ofMix }));
}

/** Figure as a share of rates, like those of processor time: the least of the others ÷ Signet's. */
function figureOf({ plan: { kind, size }, mix, counts }: Cell): Figure {
  const least = Math.min(...handCoded.bare.map((engine) => counts.get(engine) ?? Number.POSITIVE_INFINITY));
  const name = `${kind}, ${size} assertions, ${mix}`;
  return {
    id: `decisions/instructions/${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`,
    title: `decisions ÷ the better of two hand-coded engines, in instructions: ${name}`,
    unit: '',
    value: spreadOf([least / (counts.get('ours') ?? Number.NaN)]),
  };
}
