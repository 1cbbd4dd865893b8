import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { InstructionCounter } from '../measure/instructions.ts';

const script = fileURLToPath(new URL('./signature-worker.ts', import.meta.url));
const atOnce = 500;

/** Instructions of one P-256 signature as Node makes it, round by round. */
export async function signatureInstructions(counter: InstructionCounter): Promise<readonly number[]> {
  const [command = process.execPath, ...args] = [...counter.wrapper, process.execPath, script];
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the process that signs ended with ${code}`);
  });
  ended.catch(() => {}); // it ends at last, and is to
  const make = async (count: number): Promise<void> => {
    const made = once(child, 'message');
    child.send(count);
    await Promise.race([made, ended]);
  };
  try {
    await make(4 * atOnce);
    const pid = child.pid ?? 0;
    await counter.begin(pid);
    const counts: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      await make(atOnce);
      counts.push((await counter.take(pid)) / atOnce);
    }
    return counts;
  } finally {
    child.disconnect();
  }
}
