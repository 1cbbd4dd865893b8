import { existsSync, readFileSync } from 'node:fs';
import type { ExecutionContext } from 'ava';

/** Cost of a process since it started. */
export interface Cost {
  /** Processor time of all its threads, ended ones included, in milliseconds (steps of 10). */
  readonly processorMs: number;
  /** The most memory that it ever held, in MiB. */
  readonly peakMiB: number;
  /** The memory that it holds now, in MiB. */
  readonly residentMiB: number;
}

/** True if costs can be read here (Linux). */
export const costsAreKnown = existsSync('/proc/self/stat');

const tickMs = 10;

/** Reads what a process has cost; only where `costsAreKnown`. Default: this process. */
export function costOf(pid: number | 'self' = 'self'): Cost {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, in parentheses, may hold blanks; user and system time are the fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mebibytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
  return {
    processorMs: (Number(fields[11]) + Number(fields[12])) * tickMs,
    peakMiB: mebibytes('VmHWM'),
    residentMiB: mebibytes('VmRSS'),
  };
}

const usual = JSON.stringify(
  Array.from({ length: 20_000 }, (_, index) => ({ name: `media.player${index}`, expires: null })),
);
/** Cost of the work of `slowness` on a quiet machine, in milliseconds of processor time. */
const usualMs = 35;

/**
 * How many times more processor time the same work takes now than on a quiet machine, 1 at least: whoever shares caches and cores makes it
 * dearer. Bounds of processor time are for a quiet machine: compare with them what is left after a division by this.
 */
export function slowness(): number {
  const times = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    for (let round = 0; round < 5; round += 1) JSON.stringify(JSON.parse(usual));
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.max(1, Math.min(...times) / usualMs);
}

/**
 * Processor time of the cheapest of some runs, in milliseconds, until one is within the bound: what else runs on the machine only ever adds to
 * it. Where none is, divided by how much dearer all work is now.
 */
export async function leastProcessorMs(work: () => unknown, boundMs: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 40 && least > boundMs; run += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least > boundMs ? least / slowness() : least;
}

/** Prints a figure beside its bound and holds it to the bound. */
export function assertWithin(t: ExecutionContext, what: string, figure: number, bound: number, unit = ''): void {
  t.log(`${what}: ${Number(figure.toFixed(2))} ${unit} (bound ${bound})`);
  t.true(figure <= bound, `${what}: ${figure} is more than ${bound} ${unit}`);
}
