/** Counts the instructions of some of the works, in a process that runs under the command of the counter. */
import { answerOrders } from '../measure/answer-order.ts';
import { ownInstructions } from '../measure/instructions.ts';
import { openWorks, runWork } from './works.ts';

export interface CountOrder {
  /** Folder of the store. */
  readonly folder: string;
  /** Folder of the counter's dumps. */
  readonly countIn: string;
  readonly names: readonly string[];
}

/** Instructions of each, round by round. */
export type Counts = Readonly<Record<string, readonly number[]>>;

const [warmUp, times, rounds] = [1500, 160, 3];

async function count({ folder, countIn, names }: CountOrder): Promise<Counts> {
  const { works, close } = await openWorks(folder, 0);
  const counts: [name: string, values: readonly number[]][] = [];
  const named = names.flatMap((name) => works.filter((work) => work.name === name));
  for (const work of named) {
    await runWork(work, warmUp);
    const values: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      let ran = 0;
      const instructions = await ownInstructions(countIn, async () => {
        ran = await runWork(work, times);
      });
      values.push(instructions / ran);
    }
    counts.push([work.name, values]);
  }
  await close();
  return Object.fromEntries(counts);
}

answerOrders(count);
