import { InvalidNameError } from '@signet/policy-engine/names';
import { Command } from 'commander';
import { escapeControls, escapeControlsOfLines } from '../base/terminal-text.ts';
import { ConfigError } from '../config/config-error.ts';
import { type Environment, processEnvironment } from '../config/env.ts';
import {
  DomainError,
  formatProblem,
  InvalidDocumentError,
  StoreRefusedError,
  StoreUnavailableError,
  UnacknowledgedChangeError,
} from '../errors.ts';
import { exitStatus } from './exit-status.ts';
import { ManagementRefusedError } from './manage/refused-request.ts';
import { refuseOthersFolder } from './own-folder.ts';
import { UsageError } from './usage-error.ts';

export { UsageError } from './usage-error.ts';

/** A command that did its work and found a no, or that failed and has already said why: exit status 1, nothing more is printed. */
export class CommandFailedError extends Error {
  override readonly name = 'CommandFailedError';

  constructor() {
    super('the command failed');
  }
}

/** Options of the program that every command may be given. */
interface GlobalOptions {
  readonly config?: string;
}

/** Exit status for an error. The only place that knows. */
function exitStatusOf(error: unknown): number {
  if (error instanceof StoreRefusedError) return error.exitStatus;
  if (error instanceof ConfigError) return exitStatus.config;
  // Status without retry: repeating a change that may have been made makes it twice.
  if (error instanceof UnacknowledgedChangeError) return exitStatus.failed;
  if (error instanceof StoreUnavailableError) return exitStatus.unavailable;
  if (error instanceof ManagementRefusedError && error.isTemporary) return exitStatus.unavailable;
  if (error instanceof UsageError || error instanceof InvalidNameError) return exitStatus.usage;
  return exitStatus.failed;
}

/** Line for one error (documents have a line for each problem): never a stack trace. */
export function describeError(error: unknown): string {
  if (error instanceof InvalidDocumentError) {
    // A name in a document may hold a line break: only the problems have lines of their own.
    return error.problems.map((problem) => escapeControls(formatProblem(problem))).join('\n');
  }
  if (error instanceof DomainError) return escapeControls(error.message);
  const text = error instanceof Error ? error.message : String(error);
  return escapeControls(text.replace(/\s*\n\s*/g, ' ').trim());
}

/** Prints a line on standard error that is not the end of the command. */
export function warn(text: string): void {
  process.stderr.write(`signet: warning: ${escapeControls(text)}\n`);
}

/**
 * Wraps the action of a command: an error becomes one line on standard error and the exit status of its kind. `fn` gets what
 * commander passes: arguments, options, the command.
 */
export function action<Arguments extends unknown[]>(
  fn: (...args: Arguments) => void | Promise<void>,
): (...args: Arguments) => Promise<void> {
  return async (...args) => {
    try {
      await fn(...args);
    } catch (error) {
      const command = args.at(-1);
      const isJson = command instanceof Command && command.optsWithGlobals()['json'] === true;
      if (!(error instanceof CommandFailedError)) printError(describeError(error), isJson);
      process.exitCode = exitStatusOf(error);
    }
  };
}

/** Prints an error on standard error: a line for people, or with `--json` an object whose `error` is the text. */
function printError(text: string, isJson: boolean): void {
  process.stderr.write(isJson ? `${JSON.stringify({ error: text })}\n` : `signet: ${text}\n`);
}

/** Variant of `action` for a command with many arguments: `fn` gets them as one object, by the names that the command declares. */
export function namedAction<Name extends string, Options>(
  fn: (given: Readonly<Record<Name, string>>, options: Options) => void | Promise<void>,
): (...args: unknown[]) => Promise<void> {
  return action((...args: unknown[]) => {
    const command = args.at(-1) as Command;
    const given = command.registeredArguments.map((argument, at) => [argument.name(), args[at]]);
    return fn(Object.fromEntries(given), command.opts() as Options);
  });
}

/** The folder of `npm start` in the current directory. */
const defaultFolder = '.signet';

const defaultConfig = `${defaultFolder}/signet.yaml`;

/** The configuration file in force: `--config`, else `SIGNET_CONFIG`, else the one that `npm start` writes. */
export function configPath(options: GlobalOptions, environment: Environment = processEnvironment()): string {
  return options.config ?? (environment['SIGNET_CONFIG'] || defaultConfig);
}

/** The same for commands that read it from where they stand below the program. Throws `UsageError`. */
export function configPathOf(command: Command, environment?: Environment): string {
  return trusted(configPath(command.optsWithGlobals<GlobalOptions>(), environment));
}

/**
 * Same path, before the file is read. A file in the current directory was not chosen explicitly: it is used only where no other user can have
 * put it there. Throws `UsageError`.
 */
export function trusted(config: string): string {
  if (config === defaultConfig) refuseOthersFolder(defaultFolder, 'use `--config` if you trust it');
  return config;
}

/** Prints a text that programs read: as it is into a file or a pipe, with what deceives a reader escaped on a terminal. */
export function printRaw(text: string): void {
  process.stdout.write(process.stdout.isTTY ? escapeControlsOfLines(text) : text);
}

/** Prints a value: with `json` as one line of JSON, else as a person reads it. */
export function print(value: unknown, json: boolean | undefined): void {
  if (json !== true && Array.isArray(value) && value.length === 0) {
    // An empty list prints no line on standard output, so that line counts are right; a person is told.
    if (process.stdout.isTTY) process.stderr.write('none\n');
    return;
  }
  process.stdout.write(`${json === true ? escapeControls(JSON.stringify(value)) : asText(value)}\n`);
}

/** Prints a list as `print` does as JSON, without ever having all of it. */
export async function printList(items: AsyncIterable<unknown>): Promise<void> {
  let separator = '[';
  for await (const item of items) {
    process.stdout.write(`${separator}${escapeControls(JSON.stringify(item))}`);
    separator = ',';
  }
  process.stdout.write(separator === '[' ? '[]\n' : ']\n');
}

function asText(value: unknown): string {
  if (Array.isArray(value)) return value.every(isRecord) ? table(value) : value.map(cell).join('\n');
  if (isRecord(value)) return columns(Object.entries(value).map(([key, each]) => [escapeControls(key), cell(each)]));
  return escapeControlsOfLines(scalar(value));
}

function table(rows: readonly Record<string, unknown>[]): string {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return columns([keys.map(escapeControls), ...rows.map((row) => keys.map((key) => cell(row[key])))]);
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
  return escapeControls(scalar(value));
}

function scalar(value: unknown): string {
  if (value === undefined || value === null) return '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
