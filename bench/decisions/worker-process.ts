import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { compilingAtOnce } from '../measure/instructions.ts';
import { pinTo } from '../measure/program.ts';
import type { EngineName } from './engines/index.ts';
import type { Names, Order, Reply } from './worker.ts';
import type { Mix, WorkloadPlan } from './workload.ts';

const script = fileURLToPath(new URL('./worker.ts', import.meta.url));

/** Handle of one engine with one workload in its own process. */
export interface WorkerProcess {
  readonly engine: EngineName;
  rate(mix: Mix, names: Names, cpuMs: number): Promise<number>;
  latency(mix: Mix, batches: number): Promise<readonly number[]>;
  /** Instructions of a decision; needs a process under the command of a counter whose folder this is. */
  count(mix: Mix, countIn: string): Promise<number>;
  close(): void;
}

/** Starts an engine; `undefined` when it cannot express the rules or was not ready within `limitMs`. */
export async function startWorker(
  engine: EngineName,
  plan: WorkloadPlan,
  limitMs: number,
  counting: readonly string[] = [],
): Promise<WorkerProcess | undefined> {
  const [command = process.execPath, ...wrapper] = [...pinTo(1), ...counting, process.execPath];
  const child = fork(script, [], {
    execPath: command,
    execArgv: [
      ...wrapper,
      '--conditions=@signet/source',
      '--max-old-space-size=6000',
      ...(counting.length === 0 ? [] : compilingAtOnce),
    ],
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMs);
  const ready = await ask(child, { kind: 'prepare', engine, plan, checkMs: limitMs / 40 });
  clearTimeout(limit);
  if (ready?.kind !== 'ready') {
    if (child.connected) child.disconnect();
    return undefined;
  }
  return {
    engine,
    rate: async (mix, names, cpuMs) => {
      const reply = await ask(child, { kind: 'rate', mix, names, cpuMs });
      return reply?.kind === 'rate' ? reply.perCpuSecond : Number.NaN;
    },
    latency: async (mix, batches) => {
      const reply = await ask(child, { kind: 'latency', mix, batches });
      return reply?.kind === 'latency' ? reply.samples : [];
    },
    count: async (mix, countIn) => {
      const reply = await ask(child, { kind: 'count', mix, countIn });
      return reply?.kind === 'count' ? reply.instructions : Number.NaN;
    },
    close: () => child.disconnect(),
  };
}

/** `undefined` when the process ended; throws when it reports a failure, such as a wrong answer. */
async function ask(child: ChildProcess, order: Order): Promise<Reply | undefined> {
  const reply = await new Promise<Reply | undefined>((resolve) => {
    const ended = (): void => resolve(undefined);
    child.once('exit', ended);
    child.once('message', (message: Reply) => {
      child.off('exit', ended);
      resolve(message);
    });
    child.send(order);
  });
  if (reply?.kind === 'failed') throw new Error(`${order.kind}: ${reply.reason}`);
  return reply;
}
