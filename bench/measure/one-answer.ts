import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Runs a script of this package in a process of its own, sends it one order and returns its one answer. */
export async function oneAnswer(script: URL, order: object, flags: readonly string[] = []): Promise<unknown> {
  const child = fork(fileURLToPath(script), [], { execArgv: ['--conditions=@signet/source', ...flags] });
  child.send(order);
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${script.pathname} ended with ${code}`);
  });
  const [answer]: unknown[] = await Promise.race([once(child, 'message'), ended]);
  ended.catch(() => {}); // it ends now, and is to
  child.disconnect();
  return answer;
}
