import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../config/env.ts';
import { ownProgram } from '../own-files.ts';

export interface ChildSpec {
  /** Name in messages. */
  readonly name: string;
  /** The script to run with this process's Node. */
  readonly script: string;
  readonly args: readonly string[];
  /** File for the program's output, but the first line of its standard output. */
  readonly logFile: string;
  readonly environment: Environment;
}

/** End of a program: `text` describes it, with the last line of its output. */
interface ChildEnd {
  readonly text: string;
}

/** A program that runs beside this one. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  /** The first line of its standard output; never settles when it ends without one. */
  readonly firstLine: Promise<string>;
  /** Settles when it has ended. */
  readonly ended: Promise<ChildEnd>;
  /** Requests its end, kills it after `graceMs`, and waits until it has ended. */
  stop(graceMs: number): Promise<void>;
}

const guard = fileURLToPath(ownProgram('dev/end-with-parent'));

/** Starts a program that ends when this one does, however this one ends. Throws when it cannot be started at all. */
export function startChild(spec: ChildSpec): Child {
  const log = openSync(spec.logFile, 'a', 0o600);
  const logStart = statSync(spec.logFile).size;
  const process_ = spawn(process.execPath, ['--import', guard, spec.script, ...spec.args], {
    env: { ...spec.environment },
    stdio: ['ignore', 'pipe', log, 'ipc'],
  });
  if (process_.pid === undefined) throw new Error(`${spec.name} cannot be started`);
  const ended = endOf(process_, spec, logStart).finally(() => closeSync(log));
  return {
    name: spec.name,
    pid: process_.pid,
    firstLine: firstLineOf(process_, log),
    ended,
    stop: async (graceMs) => {
      process_.kill('SIGTERM');
      const timer = setTimeout(() => process_.kill('SIGKILL'), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

function firstLineOf(child: ChildProcess, log: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const { stdout } = child;
  if (stdout === null) return promise;
  let first = true;
  createInterface({ input: stdout }).on('line', (line) => {
    if (first) resolve(line);
    else writeSync(log, `${line}\n`);
    first = false;
  });
  return promise;
}

async function endOf(child: ChildProcess, spec: ChildSpec, logStart: number): Promise<ChildEnd> {
  const { promise, resolve } = Promise.withResolvers<string>();
  child.once('error', () => resolve('could not be started'));
  child.once('close', (code, signal) =>
    resolve(code === null ? `was ended by ${String(signal)}` : `ended with exit status ${code}`),
  );
  const how = await promise;
  const last = lastLine(spec.logFile, logStart);
  return { text: `${spec.name} ${how}${last === '' ? '' : `: ${last}`}` };
}

/** Last line of a program on standard error: the reason, when it ended by itself. */
function lastLine(file: string, from: number): string {
  const lines = readFileSync(file).subarray(from).toString('utf8').trimEnd().split('\n');
  const line = lines.at(-1) ?? '';
  return (/^\{"error":/.test(line) ? String(JSON.parse(line).error) : line).slice(0, 500);
}
