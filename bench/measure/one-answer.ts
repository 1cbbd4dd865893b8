import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

interface Surroundings {
  /** Flags of Node. */
  readonly flags?: readonly string[];
  /** A command that runs Node, such as valgrind. */
  readonly wrapper?: readonly string[];
}

/** Runs a script of this package in a process of its own, sends it one order and returns its one answer. */
export async function oneAnswer(
  script: URL,
  order: object,
  { flags = [], wrapper = [] }: Surroundings = {},
): Promise<unknown> {
  const [execPath = process.execPath, ...words] = [...wrapper, process.execPath];
  const child = fork(fileURLToPath(script), [], {
    execPath,
    execArgv: [...words, '--conditions=@signet/source', ...flags],
  });
  child.send(order);
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${script.pathname} ended with ${code}`);
  });
  const [answer]: unknown[] = await Promise.race([once(child, 'message'), ended]);
  ended.catch(() => {}); // it ends now, and is to
  child.disconnect();
  return answer;
}
