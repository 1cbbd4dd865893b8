import { createProgram, runProgram } from '@signet/server/program';
import type { Finished } from './run-program.ts';

let before: Promise<unknown> = Promise.resolve();

/**
 * Runs `signet` in this process, as a program of its own takes a second to start. Command lines run one after another: each has the standard output,
 * the exit status and the working directory of the process to itself. Output of child processes and of the logger is not captured.
 */
export function runSignet(...args: readonly string[]): Promise<Finished> {
  return runSignetIn(process.cwd(), ...args);
}

/** The same, in this folder. */
export function runSignetIn(folder: string, ...args: readonly string[]): Promise<Finished> {
  const run = before.then(() => capture(folder, args));
  before = run.catch(() => undefined);
  return run;
}

async function capture(folder: string, args: readonly string[]): Promise<Finished> {
  const written = { stdout: '', stderr: '' };
  const { exitCode } = process;
  const top = process.cwd();
  const streams = (['stdout', 'stderr'] as const).map((name) => ({ name, write: process[name].write }));
  for (const { name } of streams) {
    process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
      written[name] += Buffer.from(chunk).toString();
      const done = rest.at(-1);
      if (typeof done === 'function') process.nextTick(done);
      return true;
    };
  }
  process.exitCode = undefined;
  process.chdir(folder);
  try {
    return { status: await runProgram(await createProgram('', args), args), ...written };
  } finally {
    process.chdir(top);
    process.exitCode = exitCode;
    for (const { name, write } of streams) process[name].write = write;
  }
}
