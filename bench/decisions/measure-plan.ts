import { percentile } from '../measure/statistics.ts';
import type { EngineName } from './engines/index.ts';
import type { Names } from './worker.ts';
import { startWorker, type WorkerProcess } from './worker-process.ts';
import { type Mix, mixes, type WorkloadPlan } from './workload.ts';

export interface PlanResult {
  readonly plan: WorkloadPlan;
  readonly mix: Mix;
  readonly names: Names;
  /** Decisions a second of processor time, round by round, of the engines that could be measured. */
  readonly rates: ReadonlyMap<EngineName, readonly number[]>;
  /** Nanoseconds of a Signet decision. */
  readonly p50: number;
  readonly p99: number;
}

export interface Effort {
  readonly rounds: number;
  readonly cpuMs: number;
  readonly peerLimitMs: number;
  readonly batches: number;
}

/** Milliseconds of processor time in which the runtime compiles what the first mix of requests needs, as in a service that has run for a while. */
export const warmUpMs = 200;

/** Past these sizes a peer needs minutes for one round. */
const largestSize: Partial<Record<EngineName, number>> = { casbin: 10_000, Cedar: 10_000 };

function isSlow(engine: EngineName): boolean {
  return largestSize[engine] !== undefined;
}

/** Measures every engine with one workload: all are running, and take turns round by round. */
export async function measurePlan(
  plan: WorkloadPlan,
  engines: readonly EngineName[],
  effort: Effort,
): Promise<readonly PlanResult[]> {
  const workers: WorkerProcess[] = [];
  try {
    for (const name of engines) {
      if (plan.size > (largestSize[name] ?? Number.POSITIVE_INFINITY)) continue;
      const worker = await startWorker(name, plan, effort.peerLimitMs);
      if (worker !== undefined) workers.push(worker);
    }
    for (const worker of workers) await worker.rate(mixes[0], 'fresh', isSlow(worker.engine) ? 0 : warmUpMs);
    const results: PlanResult[] = [];
    for (const mix of mixes) results.push(await measureMix({ plan, mix, names: 'fresh' }, workers, effort));
    if (plan.kind !== 'exact') return results;
    const fast = workers.filter(({ engine }) => !isSlow(engine));
    for (const mix of mixes) results.push(await measureMix({ plan, mix, names: 'seen' }, fast, effort));
    return results;
  } finally {
    for (const worker of workers) worker.close();
  }
}

async function measureMix(
  { plan, mix, names }: Pick<PlanResult, 'plan' | 'mix' | 'names'>,
  workers: readonly WorkerProcess[],
  effort: Effort,
): Promise<PlanResult> {
  const rates = new Map<EngineName, number[]>(workers.map(({ engine }) => [engine, []]));
  for (const worker of workers) await worker.rate(mix, names, effort.cpuMs); // warm up
  for (let round = 0; round < effort.rounds; round++) {
    for (const worker of workers) rates.get(worker.engine)?.push(await worker.rate(mix, names, effort.cpuMs));
  }
  const samples = (await workers.find(({ engine }) => engine === 'ours')?.latency(mix, effort.batches)) ?? [];
  return { plan, mix, names, rates, p50: percentile(samples, 0.5), p99: percentile(samples, 0.99) };
}
