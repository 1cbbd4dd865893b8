import { type ChildProcess, spawn } from 'node:child_process';
import { setOutputNonBlocking } from '@signet/policy-engine/internal/output';
import type { Environment } from '../../config/env.ts';

interface ShellOptions {
  readonly environment: Environment;
  /** The command is ended after this. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Result of a command. `status` is undefined when it was ended by a signal, e.g. as it took too long. */
interface ShellResult {
  readonly status: number | undefined;
  readonly output: string;
}

/** Maximum of a command's output that is kept. */
const maxOutputBytes = 65_536;

/** Runs a command of the operator in a shell, with nothing to read; what it writes on standard error is shown. Never throws. */
export async function runShell(
  command: string,
  { environment, timeoutMs, signal }: ShellOptions,
): Promise<ShellResult> {
  const child = spawn('/bin/sh', ['-c', command], {
    env: { ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
    // A group of its own, so that what the shell started ends with it.
    detached: true,
  });
  setOutputNonBlocking();
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  child.once('error', () => resolve(undefined));
  child.once('close', (status) => resolve(status ?? undefined));
  const stop = () => endGroup(child);
  const timer = setTimeout(stop, timeoutMs);
  signal?.addEventListener('abort', stop, { once: true });
  const output = readOutput(child);
  const status = await promise;
  clearTimeout(timer);
  signal?.removeEventListener('abort', stop);
  return { status, output: output() };
}

function readOutput(child: ChildProcess): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    if (size < maxOutputBytes) chunks.push(chunk.subarray(0, maxOutputBytes - size));
    size += chunk.length;
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

function endGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // it has ended already
  }
}
