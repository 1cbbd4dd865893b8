import { setTimeout as delay } from 'node:timers/promises';
import type { LoadGenerator } from '../token/load-generator.ts';
import type { InstructionCounter } from './instructions.ts';
import { treeCpuNanoseconds } from './process-tree.ts';
import type { Program } from './program.ts';

/** A running server and what loads it. */
export interface Running {
  readonly program: Program;
  readonly load: LoadGenerator;
}

export interface RoundPlan {
  readonly warmUp: number;
  readonly rounds: number;
  readonly requests: number;
}

/**
 * Microseconds of processor time a request, by server and round. In each round every server answers the same number of
 * requests, one server after the other, starting with another one each time.
 */
export async function cpuRounds(running: readonly Running[], plan: RoundPlan): Promise<Map<string, number[]>> {
  const results = new Map<string, number[]>(running.map(({ program }) => [program.name, []]));
  for (const { load } of running) await load.send(plan.warmUp);
  for (let round = 0; round < plan.rounds; round++) {
    for (let turn = 0; turn < running.length; turn++) {
      const server = running[(round + turn) % running.length];
      if (server === undefined) continue;
      results.get(server.program.name)?.push(await cpuOfRequests(server, plan.requests));
    }
  }
  return results;
}

async function cpuOfRequests({ program, load }: Running, requests: number): Promise<number> {
  const before = treeCpuNanoseconds(program.pid);
  await load.send(requests);
  await delay(20); // time for the server's remaining work on these requests, such as writing its log
  return (treeCpuNanoseconds(program.pid) - before) / 1000 / requests;
}

/** Instructions a request of one server, round by round, after a warm-up that is not counted. */
export async function instructionRounds(
  { program, load }: Running,
  counter: InstructionCounter,
  plan: RoundPlan,
): Promise<number[]> {
  await load.send(plan.warmUp);
  await counter.begin(program.pid);
  await load.send(plan.requests);
  await counter.take(program.pid);
  const counts: number[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    await load.send(plan.requests);
    counts.push((await counter.take(program.pid)) / plan.requests);
  }
  return counts;
}
