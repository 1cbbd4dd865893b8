import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** A server under test: a process of its own that printed one JSON line when it was ready. */
export interface Program {
  readonly name: string;
  readonly pid: number;
  readonly baseUrl: string;
  stop(): Promise<void>;
}

export interface ProgramOptions {
  readonly name: string;
  /** Arguments of Node: flags, the script, its arguments. */
  readonly args: readonly string[];
  /** A command that runs Node, such as valgrind. */
  readonly wrapper?: readonly string[];
  /** Where standard error goes; read back when the program does not start. */
  readonly logFile: string;
  /** Beside the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The command that keeps a process on one processor, when the machine has it. */
export function pinTo(processor: number): readonly string[] {
  return spawnSync('taskset', ['-c', String(processor), 'true']).status === 0
    ? ['taskset', '-c', String(processor)]
    : [];
}

/** Starts a server on the last processor and resolves when it has printed its `{"baseUrl":...}` line. */
export async function startProgram(options: ProgramOptions, processor: number): Promise<Program> {
  const command = [...pinTo(processor), ...(options.wrapper ?? []), process.execPath, ...options.args];
  const log = openSync(options.logFile, 'a');
  const child = spawn(command[0] ?? process.execPath, command.slice(1), {
    // No compile cache: a server's first start on a machine has none.
    env: { ...process.env, NODE_ENV: 'production', NODE_DISABLE_COMPILE_CACHE: '1', ...options.environment },
    stdio: ['ignore', 'pipe', log],
  });
  closeSync(log);
  const baseUrl = await readyUrl(child, options);
  return { name: options.name, pid: child.pid ?? 0, baseUrl, stop: () => stop(child) };
}

async function readyUrl(child: ChildProcess, options: ProgramOptions): Promise<string> {
  if (child.stdout === null) throw new Error(`${options.name}: no standard output`);
  const lines = createInterface({ input: child.stdout });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      reject(new Error(`${options.name} ended with ${code}: ${readFileSync(options.logFile, 'utf8').slice(-2000)}`));
    });
    // The listener stays, so that whatever the program logs to its standard output is read and thrown away.
    lines.on('line', (line) => {
      const url = line.startsWith('{"baseUrl"') ? baseUrlOf(line) : undefined;
      if (url !== undefined) resolve(url);
    });
  });
}

function baseUrlOf(line: string): string | undefined {
  const value: unknown = JSON.parse(line);
  if (typeof value !== 'object' || value === null || !('baseUrl' in value)) return undefined;
  return typeof value.baseUrl === 'string' ? value.baseUrl : undefined;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const guard = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await ended;
  clearTimeout(guard);
}
