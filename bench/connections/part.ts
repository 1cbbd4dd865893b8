import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { familyMemory } from '../measure/family-memory.ts';
import type { Figure, PartContext, PartReport } from '../measure/figure.ts';
import { asPacked, packServer } from '../measure/packed.ts';
import { startProgram } from '../measure/program.ts';
import { formatNumber, markdownTable } from '../measure/report.ts';
import type { Target } from '../token/load.ts';
import { createSignet } from '../token/signet.ts';
import type { Order } from './updaters.ts';

const script = fileURLToPath(new URL('./updaters.ts', import.meta.url));
const workers = [1, 2, 4];
const perProcess = 2500;
const mebibyte = 2 ** 20;

interface Held {
  readonly workers: number;
  readonly before: number;
  readonly after: number;
}

/** Cost of updaters' kept connections, over one and over several processes of a server. */
export async function connectionsPart({ folder, quick }: PartContext): Promise<PartReport> {
  const count = quick ? 2000 : 10_000;
  const contender = asPacked(await createSignet(folder), packServer(folder), 'ours');
  const results: Held[] = [];
  for (const number of quick ? [1] : workers) {
    const args = [...contender.args, '--workers', String(number)];
    const program = await startProgram({ name: contender.name, args, logFile: join(folder, 'server.log') }, 1);
    try {
      const target = contender.bundle?.(program.baseUrl);
      if (target === undefined) throw new Error('there is no bundle to ask for');
      results.push({ workers: number, ...(await hold(program.pid, target, count)) });
    } finally {
      await program.stop();
    }
  }
  const rows = results.map((held) => [
    String(held.workers),
    formatNumber(held.before / mebibyte),
    formatNumber(held.after / mebibyte),
    formatNumber((held.after - held.before) / 1000 / count),
  ]);
  const head = ['processes', 'MiB before', `MiB with ${count.toLocaleString('en-US')} connections`, 'kB a connection'];
  return {
    markdown: `## Kept connections\n\nEach of another updater, which has asked three times. Ours is installed from its package.\n\n${markdownTable(head, rows)}`,
    figures: results.flatMap((held) => figuresOf(held, count)),
  };
}

function figuresOf({ workers: number, before, after }: Held, count: number): Figure[] {
  const of = (id: string, title: string, unit: string, value: number, aim: number): Figure => ({
    id: `connections/${id}-${number}`,
    title: `${title}, ${number} ${number === 1 ? 'process' : 'processes'}`,
    unit,
    value: { median: value, low: value, high: value },
    aim: { kind: 'at most', value: aim },
  });
  const each = of('each', 'a kept connection', 'kB', (after - before) / 1000 / count, 40);
  if (count < 10_000) return [each];
  return [each, of('all', '10,000 connections, the server included', 'MiB', after / mebibyte, 1024)];
}

/** Memory of the server before and after `count` updaters have come and asked. */
async function hold(pid: number, target: Target, count: number): Promise<Pick<Held, 'before' | 'after'>> {
  const processes: ChildProcess[] = [];
  const open = async (number: number) => {
    const child = fork(script, [], { execArgv: ['--conditions=@signet/source'] });
    processes.push(child);
    await order(child, { kind: 'open', target, count: number });
  };
  try {
    await open(50);
    await delay(2000);
    const before = familyMemory(pid);
    for (let left = count; left > 0; left -= perProcess) await open(Math.min(left, perProcess));
    for (let again = 0; again < 2; again += 1) {
      for (const child of processes) await order(child, { kind: 'ask', target, count });
    }
    await delay(2000);
    return { before, after: familyMemory(pid) };
  } finally {
    for (const child of processes) child.kill();
  }
}

async function order(child: ChildProcess, message: Order): Promise<void> {
  child.send(message);
  const [report]: unknown[] = await once(child, 'message');
  if (typeof report === 'object' && report !== null && 'reason' in report) throw new Error(String(report.reason));
}
