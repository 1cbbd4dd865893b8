import { join } from 'node:path';
import type { Contender } from '../token/contenders.ts';
import type { Target } from '../token/load.ts';
import { startLoad } from '../token/load-generator.ts';
import type { InstructionCounter } from './instructions.ts';
import { type Program, startProgram } from './program.ts';
import { instructionRounds, type RoundPlan, type Running } from './rounds.ts';

/** Finds out what to send to a server that has just started. */
export type FindTarget = (contender: Contender, program: Program) => Promise<Target>;

export interface ServersPlan {
  readonly contenders: readonly Contender[];
  readonly folder: string;
  readonly target: FindTarget;
}

/** Rounds of measurements by the name of the server. */
export type Rounds = ReadonlyMap<string, readonly number[]>;

/** The processor on which the servers run; the load comes from the other one. */
const serverProcessor = 1;

/** Starts every contender with its load generator, and stops all at the end. */
export async function withServers<T>(
  { contenders, folder, target }: ServersPlan,
  wrapper: readonly string[],
  use: (running: readonly Running[]) => Promise<T>,
): Promise<T> {
  const running: Running[] = [];
  const logFile = join(folder, 'servers.log');
  try {
    for (const contender of contenders) {
      const { name, args } = contender;
      const program = await startProgram({ name, args, wrapper, logFile }, serverProcessor);
      try {
        running.push({ program, load: await startLoad(await target(contender, program)) });
      } catch (error) {
        await program.stop();
        throw error;
      }
    }
    return await use(running);
  } finally {
    for (const { load, program } of running) {
      load.close();
      await program.stop();
    }
  }
}

/** Instructions a request. One server after the other: what callgrind counts does not depend on what else runs. */
export async function countInstructions(
  plan: ServersPlan,
  counter: InstructionCounter,
  rounds: RoundPlan,
): Promise<Rounds> {
  const counts = new Map<string, readonly number[]>();
  for (const contender of plan.contenders) {
    const count = await withServers({ ...plan, contenders: [contender] }, counter.wrapper, ([server]) => {
      if (server === undefined) throw new Error('no server was started');
      return instructionRounds(server, counter, rounds);
    });
    counts.set(contender.name, count);
  }
  return counts;
}
