import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface Finished {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. `input` goes to its standard input, which is closed otherwise. */
export async function runProgram(
  file: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly input?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Finished> {
  const child = spawn(file, args, { stdio: 'pipe', cwd: options.cwd, env: options.env ?? process.env });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status));
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { status, stdout, stderr };
}
