import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processTree } from './process-tree.ts';

/** Counts the instructions of one process between two moments. */
export interface InstructionCounter {
  /** Method of counting, for the report. */
  readonly method: string;
  /** The command to put before Node, so that the process can be counted. */
  readonly wrapper: readonly string[];
  /** The same for a process that is counted from its start on. */
  readonly fromStart: readonly string[];
  /** Instructions of a command of Node, from its start to its end. */
  run(args: readonly string[]): number;
  /** The folder of the dumps, for `ownInstructions`. */
  readonly folder: string;
  /** Starts counting; what ran before cost little and is not counted. */
  begin(pid: number): Promise<void>;
  /** Instructions since the last call of `begin` or `take`, or since the start. */
  take(pid: number): Promise<number>;
}

/**
 * Callgrind runs the program on a simulated processor and counts the instructions that it executes outside the kernel:
 * slow, but free of whatever else the machine does. `undefined` where valgrind is not installed.
 */
export function callgrindCounter(folder: string): InstructionCounter | undefined {
  if (spawnSync('valgrind', ['--version']).status !== 0) return undefined;
  const out = join(folder, 'callgrind.out');
  const fromStart = [
    'valgrind',
    '-q',
    '--tool=callgrind',
    '--smc-check=all-non-file',
    `--callgrind-out-file=${out}.%p`,
  ];
  return {
    method: 'instructions outside the kernel, counted by callgrind',
    folder,
    fromStart,
    wrapper: [...fromStart, '--instr-atstart=no'],
    run(args) {
      const [command = '', ...flags] = fromStart;
      const { NODE_COMPILE_CACHE: _, ...env } = process.env;
      const { pid, status } = spawnSync(command, [...flags, process.execPath, ...args], { env, stdio: 'ignore' });
      if (status !== 0) throw new Error(`the counted command ended with ${status}`);
      return totalOf(readFileSync(`${out}.${pid}`, 'utf8'));
    },
    async begin(pid) {
      control(['-i', 'on'], pid);
      await this.take(pid);
    },
    async take(pid) {
      const before = new Set(dumps(`${out}.${pid}`));
      control(['--dump'], pid);
      return totalOf(await newDump(`${out}.${pid}`, before));
    },
  };
}

/** Counts all processes of a server together. */
export function countingTree(counter: InstructionCounter): InstructionCounter {
  return {
    ...counter,
    wrapper: [...counter.wrapper, '--trace-children=yes'],
    async begin(pid) {
      for (const each of processTree(pid)) await counter.begin(each);
    },
    async take(pid) {
      let total = 0;
      for (const each of processTree(pid)) total += await counter.take(each);
      return total;
    },
  };
}

/**
 * Instructions of this very process while the work is done; it runs under the wrapper of a counter whose dumps are in the folder. To take a
 * count costs some millions itself, which are among them: the work has to be a hundred times as much.
 */
export async function ownInstructions(folder: string, work: () => unknown): Promise<number> {
  const counter = callgrindCounter(folder);
  if (counter === undefined) throw new Error('valgrind is gone');
  await counter.begin(process.pid);
  await work();
  return counter.take(process.pid);
}

/**
 * Flags of Node for work that is counted within its process once it is compiled: the counter has the compiler's thread take turns with one that never waits, and
 * it may not have come to its turn when the count begins.
 */
export const compilingAtOnce: readonly string[] = ['--no-concurrent-recompilation'];

function control(args: readonly string[], pid: number): void {
  execFileSync('callgrind_control', [...args, String(pid)], { stdio: 'ignore' });
}

function dumps(prefix: string): readonly string[] {
  return readdirSync(dirname(prefix)).filter((name) => name.startsWith(`${basename(prefix)}.`));
}

/** The dump is written by the counted process itself, at its next block of code: wait until its last line is there. */
async function newDump(prefix: string, before: ReadonlySet<string>): Promise<string> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const name = dumps(prefix).find((candidate) => !before.has(candidate));
    const file = name === undefined ? undefined : join(dirname(prefix), name);
    const text = file === undefined ? '' : readFileSync(file, 'utf8');
    if (file !== undefined && /^totals: /m.test(text)) {
      rmSync(file);
      return text;
    }
    await delay(50);
  }
  throw new Error('callgrind wrote no dump');
}

function totalOf(dump: string): number {
  const total = /^totals: (\d+)$/m.exec(dump)?.[1];
  if (total === undefined) throw new Error('no total in the dump of callgrind');
  return Number(total);
}
