import { ownInstructions } from './instructions.ts';

/** Cost of a piece of work to its process, and to others in it. */
export interface OwnCost {
  /** Milliseconds of processor time of all threads: those of the garbage collector and of the compiler count too. */
  readonly cpuMs: number;
  /** Milliseconds of processor time of the main thread in the longest turn of the event loop: how long others wait, on a machine of their own. */
  readonly longestTurnMs: number;
}

/** Runs the work while the event loop goes round and round, which counts where the work waits for others, as for files. */
export async function measureOwn(work: () => Promise<unknown>): Promise<OwnCost> {
  const watch = watchTurns();
  const cpuMs = await measureCpu(work);
  return { cpuMs, longestTurnMs: watch.stop() };
}

/** Processor time by `measureCpu`; where the process is counted, instructions instead, whose dumps are written to the folder `countIn`. */
export function costOf(work: () => Promise<unknown>, countIn: string | undefined): Promise<number> {
  return countIn === undefined ? measureCpu(work) : ownInstructions(countIn, work);
}

/** Milliseconds of processor time of all threads during the work: waiting costs nothing, as no other work runs. */
export async function measureCpu(work: () => Promise<unknown>): Promise<number> {
  await nextTurn();
  const start = process.cpuUsage();
  await work();
  await nextTurn();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function watchTurns(): { stop(): number } {
  let longest = 0;
  let last = threadMs();
  let next: NodeJS.Immediate;
  const turn = (): void => {
    const now = threadMs();
    longest = Math.max(longest, now - last);
    last = now;
    next = setImmediate(turn);
  };
  next = setImmediate(turn);
  return {
    stop() {
      clearImmediate(next);
      return longest;
    },
  };
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
