import { readdirSync, readFileSync } from 'node:fs';
import { processCpuNanoseconds } from './process-cpu.ts';
import type { Spread } from './statistics.ts';

/** A process and all that it started, as they are now (Linux). */
export function processTree(pid: number): readonly number[] {
  const tasks = `/proc/${pid}/task`;
  const below = readdirSync(tasks).flatMap((thread) => {
    const children = readFileSync(`${tasks}/${thread}/children`, 'utf8').trim();
    return children === '' ? [] : children.split(' ').map(Number);
  });
  return [pid, ...below.flatMap(processTree)];
}

/** Nanoseconds that a process and all that it started have spent on a processor. */
export function treeCpuNanoseconds(pid: number): number {
  return sum(processTree(pid).map(processCpuNanoseconds));
}

/** Memory of a process, in mebibytes. */
export interface HeldMemory {
  /** Pages in memory, those that others have as well among them. */
  readonly resident: number;
  /** Private memory: what is free when it ends. */
  readonly own: number;
}

/** Memory of a process by the kernel (`/proc/PID/smaps_rollup`). */
export function heldMemory(pid: number): HeldMemory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const mebibytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) / 1024;
  return { resident: mebibytes('Rss'), own: mebibytes('Private_Clean') + mebibytes('Private_Dirty') };
}

/** The resident memory of a process and all that it started, in mebibytes. */
export function treeResident(pid: number): number {
  return sum(processTree(pid).map((each) => heldMemory(each).resident));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Converts mebibytes for a figure: aims are in megabytes of 10^6 bytes. */
export function inMegabytes({ median, low, high }: Spread): Spread {
  const of = (mebibytes: number) => (mebibytes * 2 ** 20) / 1e6;
  return { median: of(median), low: of(low), high: of(high) };
}
