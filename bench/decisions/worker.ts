/** Worker with one engine and one workload in a process of its own; measures on order. */

import { setImmediate as turn } from 'node:timers/promises';
import { ownInstructions } from '../measure/instructions.ts';
import type { Decide } from './engine.ts';
import { type EngineName, engines } from './engines/index.ts';
import { createWorkload, domain, type Mix, type Question, type WorkloadPlan } from './workload.ts';

/**
 * `fresh`: the resource's name is put together for every request, as a service does it, so that each engine has to hash it.
 * `seen`: the same string objects come again and again, whose hashes the runtime keeps.
 */
export type Names = 'fresh' | 'seen';

export type Order =
  | { readonly kind: 'prepare'; readonly engine: EngineName; readonly plan: WorkloadPlan; readonly checkMs: number }
  | { readonly kind: 'rate'; readonly mix: Mix; readonly names: Names; readonly cpuMs: number }
  | { readonly kind: 'latency'; readonly mix: Mix; readonly batches: number }
  | { readonly kind: 'count'; readonly mix: Mix; readonly countIn: string };

export type Reply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'cannot' }
  /** Decisions a second of processor time. */
  | { readonly kind: 'rate'; readonly perCpuSecond: number }
  /** Nanoseconds a decision, of batches. */
  | { readonly kind: 'latency'; readonly samples: readonly number[] }
  | { readonly kind: 'count'; readonly instructions: number }
  | { readonly kind: 'failed'; readonly reason: string };

interface Run {
  readonly decide: Decide;
  readonly questions: readonly Question[];
  readonly names: Names;
}

const latencyBatch = 32;

interface Bench {
  readonly decide: Decide;
  readonly questions: ReadonlyMap<Mix, readonly Question[]>;
}

async function prepare(engine: EngineName, plan: WorkloadPlan, checkMs: number): Promise<Bench | undefined> {
  const workload = createWorkload(plan);
  const decide = await (await engines[engine]())(workload.rules);
  if (decide === undefined) return undefined;
  for (const [mix, questions] of workload.questions) checkAnswers(decide, mix, questions, checkMs);
  return { decide, questions: workload.questions };
}

/** Every answer must be right, or the speed means nothing. Slow engines are checked as far as their time goes. */
function checkAnswers(decide: Decide, mix: Mix, questions: readonly Question[], checkMs: number): void {
  const end = performance.now() + checkMs;
  for (const { roles, action, resource, allowed } of questions) {
    if (decide(roles, action, resource) !== allowed) {
      throw new Error(
        `wrong answer (${mix}): \`${action}\` on \`${resource}\` for ${roles.join(' ')}, right is ${allowed}`,
      );
    }
    if (performance.now() > end) return;
  }
}

/** Runs the questions round and round; returns how many were allowed, so that no call can be left out. */
function runQuestions({ decide, questions, names }: Run, from: number, count: number): number {
  const fresh = names === 'fresh';
  let allowed = 0;
  for (let done = 0, at = from % questions.length; done < count; done++) {
    const question = questions[at];
    if (question === undefined) continue;
    const resource = fresh ? `${domain}:${question.entity}` : question.resource;
    if (decide(question.roles, question.action, resource)) allowed++;
    at = at + 1 === questions.length ? 0 : at + 1;
  }
  return allowed;
}

function measureRate(run: Run, cpuMs: number): number {
  let batch = 1;
  let decisions = 0;
  let allowed = 0;
  const start = process.cpuUsage();
  for (;;) {
    allowed += runQuestions(run, decisions, batch);
    decisions += batch;
    const used = process.cpuUsage(start);
    const micros = used.user + used.system;
    if (micros >= cpuMs * 1000) {
      if (allowed < 0) throw new Error('unreachable count');
      return decisions / (micros / 1e6);
    }
    if (micros < cpuMs * 100) batch *= 2;
  }
}

function measureLatency(run: Run, batches: number): readonly number[] {
  const samples: number[] = [];
  let allowed = 0;
  for (let batch = 0; batch < batches; batch++) {
    const start = process.hrtime.bigint();
    allowed += runQuestions(run, batch * latencyBatch, latencyBatch);
    samples.push(Number(process.hrtime.bigint() - start) / latencyBatch);
  }
  if (allowed < 0) throw new Error('unreachable count');
  return samples;
}

/** Instructions of a decision, after as many as it takes until it is compiled. `countIn` is the folder of the counter. */
async function countInstructions(run: Run, countIn: string): Promise<number> {
  const count = 100_000;
  let allowed = 0;
  for (let batch = 0; batch < 5; batch++) {
    allowed += runQuestions(run, 0, count);
    await turn();
  }
  const instructions = await ownInstructions(countIn, () => {
    allowed += runQuestions(run, 0, count);
  });
  if (allowed < 0) throw new Error('unreachable count');
  return instructions / count;
}

async function obey(order: Order, bench: Bench | undefined): Promise<{ bench: Bench | undefined; reply: Reply }> {
  if (order.kind === 'prepare') {
    const prepared = await prepare(order.engine, order.plan, order.checkMs);
    return { bench: prepared, reply: { kind: prepared === undefined ? 'cannot' : 'ready' } };
  }
  const questions = bench?.questions.get(order.mix);
  if (bench === undefined || questions === undefined) throw new Error('not prepared');
  const run: Run = { decide: bench.decide, questions, names: order.kind === 'rate' ? order.names : 'fresh' };
  if (order.kind === 'count') {
    return { bench, reply: { kind: 'count', instructions: await countInstructions(run, order.countIn) } };
  }
  return order.kind === 'rate'
    ? { bench, reply: { kind: 'rate', perCpuSecond: measureRate(run, order.cpuMs) } }
    : { bench, reply: { kind: 'latency', samples: measureLatency(run, order.batches) } };
}

function main(): void {
  let bench: Bench | undefined;
  process.on('message', (order: Order) => {
    obey(order, bench).then(
      (done) => {
        bench = done.bench;
        process.send?.(done.reply satisfies Reply);
      },
      (error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        process.send?.({ kind: 'failed', reason } satisfies Reply);
      },
    );
  });
  process.once('disconnect', () => process.exit());
}

main();
