import type { Figure } from '../measure/figure.ts';
import { ratioOf, type Spread } from '../measure/statistics.ts';
import { smallSize } from './figures.ts';
import { type Effort, warmUpMs } from './measure-plan.ts';
import { startWorker, type WorkerProcess } from './worker-process.ts';
import { kinds, layouts, type Mix, mixes, type WorkloadPlan } from './workload.ts';

const largestSize = 100_000;
const hits = mixes.filter((mix) => mix.startsWith('hit'));

/** The cost of a hit in a large policy ÷ one in a small, where it grows most. Both take turns: what the machine does to one it does to the other. */
export async function growthFigure(effort: Effort): Promise<Figure> {
  const spreads: Spread[] = [];
  for (const kind of kinds) {
    for (const layout of layouts) spreads.push(...(await growthOf({ kind, layout }, effort)));
  }
  const [worst] = spreads.toSorted((a, b) => b.median - a.median);
  if (worst === undefined) throw new Error('nothing was measured');
  return {
    id: 'decisions/growth/hit',
    title: 'a hit in a policy of 100,000 assertions ÷ one in a policy of 10, where it grows most',
    unit: '',
    value: worst,
  };
}

async function growthOf(plan: Pick<WorkloadPlan, 'kind' | 'layout'>, effort: Effort): Promise<readonly Spread[]> {
  console.error(`decisions: growth, ${plan.layout}, ${plan.kind}`);
  const workers: WorkerProcess[] = [];
  try {
    for (const size of [smallSize, largestSize]) {
      const worker = await startWorker('ours', { ...plan, size }, effort.peerLimitMs);
      if (worker === undefined) throw new Error('the engine did not start in time');
      await worker.rate(mixes[0], 'fresh', warmUpMs);
      workers.push(worker);
    }
    const spreads: Spread[] = [];
    for (const mix of hits) spreads.push(await growthIn(mix, workers, effort));
    return spreads;
  } finally {
    for (const worker of workers) worker.close();
  }
}

async function growthIn(mix: Mix, workers: readonly WorkerProcess[], { rounds, cpuMs }: Effort): Promise<Spread> {
  const rates: number[][] = workers.map(() => []);
  for (const worker of workers) await worker.rate(mix, 'fresh', cpuMs); // warm up
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, worker] of workers.entries()) rates[at]?.push(await worker.rate(mix, 'fresh', cpuMs));
  }
  const [small = [], large = []] = rates;
  return ratioOf(small, large);
}
