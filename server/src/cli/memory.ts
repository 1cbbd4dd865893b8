import { totalmem } from 'node:os';
import type { Logger } from '../logger.ts';

/** The memory that the processes of this machine, or of this control group, have. */
export interface Memory {
  readonly bytes: number;
  readonly of: 'this machine' | 'its control group';
}

interface MemoryNeed {
  readonly workers: number;
  /** What each of them holds once it answers. */
  readonly bytesEach: number;
}

/** What is wrong, and what to do. */
interface MemoryProblem {
  readonly found: string;
  readonly advice: string;
}

/** As measured (`bench/RESULTS.md`, sizes): a process without domains, and what each member adds, with its share of roles and rules. */
const emptyBytes = 200 * 2 ** 20;
const bytesAMember = 400;

/** What a process will hold, by the members in its store. */
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
 * Whether memory will do. Each worker has a snapshot of its own, and holds the old one and the new one while everything is loaded again: what
 * they hold otherwise may be half of the memory. Undefined when it is.
 */
export function memoryProblem({ workers, bytesEach }: MemoryNeed, memory: Memory): MemoryProblem | undefined {
  const half = memory.bytes / 2;
  const needed = workers * bytesEach;
  if (needed <= half) return undefined;
  const who = workers === 1 ? 'the server holds' : `${workers} workers hold`;
  const found = `${who} ${inWords(needed)} of memory, more than half of the ${inWords(memory.bytes)} of ${memory.of}`;
  const fitting = Math.floor(half / bytesEach);
  const fewer = workers > 1 && fitting >= 1 ? `run ${fitting} or fewer (\`workers\`), or ` : '';
  const advice = `${fewer}give it ${inWords(2 * needed)}: while everything is loaded again a process holds it twice`;
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
