import { InvalidNameError } from '@signet/policy-engine/names';
import type { Command } from 'commander';
import { type Environment, processEnvironment } from '../config/env.ts';
import { DomainError, StoreRefusedError } from '../errors.ts';

/** The exit statuses of every command; a store that is refused adds its own (78). */
export const exitStatus = { done: 0, failed: 1, usage: 2 } as const;

/** The command line was understood and makes no sense: exit status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A command that did its work and found a no, or that failed and has already said why: exit status 1, nothing more is printed. */
export class CommandFailedError extends Error {
  override readonly name = 'CommandFailedError';

  constructor() {
    super('the command failed');
  }
}

/** Options of the program that every command may be given. */
export interface GlobalOptions {
  readonly config?: string;
}

/** What an error ends the program with. The only place that knows. */
export function exitStatusOf(error: unknown): number {
  if (error instanceof StoreRefusedError) return error.exitStatus;
  if (error instanceof UsageError || error instanceof InvalidNameError) return exitStatus.usage;
  return exitStatus.failed;
}

/** One line for one error (documents have a line for each problem): never a stack trace. */
export function describeError(error: unknown): string {
  if (error instanceof DomainError) return visible(error.message, /[^\P{Cc}\n]/gu);
  const text = error instanceof Error ? error.message : String(error);
  return visible(text.replace(/\s*\n\s*/g, ' ').trim());
}

/** What moves the cursor or turns the direction of writing: a name or a reason that holds it could look like more than one line. */
const deceiving = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** The text with those characters in the notation of JSON. */
function visible(text: string, hidden: RegExp = deceiving): string {
  return text.replace(hidden, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Wraps what a command does: an error becomes one line on standard error and the exit status of its kind. `fn` gets what
 * commander passes: arguments, options, the command.
 */
export function action<Arguments extends unknown[]>(
  fn: (...args: Arguments) => void | Promise<void>,
): (...args: Arguments) => Promise<void> {
  return async (...args) => {
    try {
      await fn(...args);
    } catch (error) {
      if (!(error instanceof CommandFailedError)) process.stderr.write(`signet: ${describeError(error)}\n`);
      process.exitCode = exitStatusOf(error);
    }
  };
}

/** The configuration file in force: `--config`, else `SIGNET_CONFIG`, else the one that `npm start` writes. */
export function configPath(options: GlobalOptions, environment: Environment = processEnvironment()): string {
  return options.config ?? (environment['SIGNET_CONFIG'] || '.signet/signet.yaml');
}

/** The same for commands that read it from where they stand below the program. */
export function configPathOf(command: Command, environment?: Environment): string {
  return configPath(command.optsWithGlobals<GlobalOptions>(), environment);
}

/** Prints a value: with `json` as one line of JSON, else as a person reads it. */
export function print(value: unknown, json: boolean | undefined): void {
  process.stdout.write(`${json === true ? visible(JSON.stringify(value)) : asText(value)}\n`);
}

function asText(value: unknown): string {
  if (Array.isArray(value)) return value.every(isRecord) ? table(value) : value.map(scalar).join('\n');
  return isRecord(value) ? columns(Object.entries(value).map(([key, each]) => [key, cell(each)])) : scalar(value);
}

function table(rows: readonly Record<string, unknown>[]): string {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return columns([keys, ...rows.map((row) => keys.map((key) => cell(row[key])))]);
}

function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A value that stands beside others on a line. */
function cell(value: unknown): string {
  return visible(scalar(value));
}

function scalar(value: unknown): string {
  if (value === undefined || value === null) return '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
