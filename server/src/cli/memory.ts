import { totalmem } from 'node:os';
import type { Logger } from '../logger.ts';

/** The memory that the processes of this machine, or of this control group, have. */
export interface Memory {
  readonly bytes: number;
  readonly of: 'this machine' | 'its control group';
}

interface MemoryNeed {
  readonly workers: number;
  /** Memory of each of them once it answers. */
  readonly bytesEach: number;
}

/** Problem, and its remedy. */
interface MemoryProblem {
  readonly found: string;
  readonly advice: string;
}

/**
 * Measured sizes (`bench/RESULTS.md`, sizes): a process without domains, and the increment of each member, with its share of roles and
 * assertions.
 */
const emptyBytes = 200 * 2 ** 20;
const bytesAMember = 400;

/** Estimated memory of a process, by the members in its store. */
export function estimatedBytes(members: number): number {
  return emptyBytes + members * bytesAMember;
}

/** The memory of the machine, or the limit of the control group where that is lower (`memory.max`, as systemd and containers set it). */
export function memoryHere(): Memory {
  const machine = totalmem();
  const group = process.constrainedMemory();
  return group > 0 && group < machine
    ? { bytes: group, of: 'its control group' }
    : { bytes: machine, of: 'this machine' };
}

/**
 * Problem of too little memory; undefined if it suffices. Each worker has a snapshot of its own, and holds the old one and the new one while
 * everything is loaded again: their usual size may be half of the memory.
 */
export function memoryProblem({ workers, bytesEach }: MemoryNeed, memory: Memory): MemoryProblem | undefined {
  const half = memory.bytes / 2;
  const needed = workers * bytesEach;
  if (needed <= half) return undefined;
  const who = workers === 1 ? 'the server holds' : `${workers} workers hold`;
  const found = `${who} ${inWords(needed)} of memory, more than half of the ${inWords(memory.bytes)} of ${memory.of}`;
  const fitting = Math.floor(half / bytesEach);
  const fewer = workers > 1 && fitting >= 1 ? `run ${fitting} or fewer (\`workers\`), or ` : '';
  const advice = `${fewer}provide ${inWords(2 * needed)}: a full reload needs twice the memory`;
  return { found, advice };
}

/** Once, when all answer. */
export function warnOfMemory(need: MemoryNeed, logger: Logger): void {
  const problem = memoryProblem(need, memoryHere());
  if (problem !== undefined) logger.warn({ advice: problem.advice }, problem.found);
}

function inWords(bytes: number): string {
  return bytes < 2 ** 30 ? `${Math.round(bytes / 2 ** 20)} MiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
