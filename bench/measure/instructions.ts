import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Counts the instructions of one process between two moments. */
export interface InstructionCounter {
  /** How it counts, for the report. */
  readonly method: string;
  /** The command to put before Node, so that the process can be counted. */
  readonly wrapper: readonly string[];
  /** Starts counting; what ran before cost little and is not counted. */
  begin(pid: number): Promise<void>;
  /** Instructions since the last call of `begin` or `take`. */
  take(pid: number): Promise<number>;
}

/**
 * Callgrind runs the program on a simulated processor and counts the instructions that it executes outside the kernel:
 * slow, but free of whatever else the machine does. `undefined` where valgrind is not installed.
 */
export function callgrindCounter(folder: string): InstructionCounter | undefined {
  if (spawnSync('valgrind', ['--version']).status !== 0) return undefined;
  const out = join(folder, 'callgrind.out');
  return {
    method: 'instructions outside the kernel, counted by callgrind',
    wrapper: [
      'valgrind',
      '-q',
      '--tool=callgrind',
      '--instr-atstart=no',
      '--smc-check=all-non-file',
      `--callgrind-out-file=${out}.%p`,
    ],
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
