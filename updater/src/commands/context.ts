import { SignetClientError } from '@signet/client';
import { type Clock, systemClock } from '@signet/policy-engine/clock';
import { configFile, loadConfig, type UpdaterConfig } from '../config/config.ts';
import { type Environment, readEnvironment } from '../config/env.ts';
import { type ExitStatus, exitStatus, statusOfError } from '../exit-status.ts';
import { UpdaterError } from '../updater-errors.ts';

/** Dependencies of a command. */
export interface CommandContext {
  readonly config: UpdaterConfig;
  /** File that it was read from. */
  readonly configFile: string;
  /** Reads it again. Throws `UpdaterError('configuration')`. */
  loadConfig(): UpdaterConfig;
  readonly clock: Clock;
  readonly json: boolean;
  /** A line on standard output. */
  print(line: string): void;
  /** A line on standard error. */
  complain(line: string): void;
  /** Aborts when the program is asked to end. */
  readonly signal: AbortSignal;
  /** Registers a listener for the order to run now. */
  onWakeUp(listener: () => void): void;
  /** Registers a listener for the order to read the configuration again. */
  onReload(listener: () => void): void;
}

/** The options that every command has. */
export interface CommandOptions {
  readonly config?: string;
  readonly json?: boolean;
}

/** Part of the context that the process gives to every command. */
export type ProcessContext = Pick<CommandContext, 'print' | 'complain' | 'signal' | 'onWakeUp' | 'onReload'>;

/** Loads the configuration, runs a command, and turns an expected error into a line and an exit status. */
export async function runCommand(
  command: (context: CommandContext) => Promise<ExitStatus>,
  options: CommandOptions,
  around: ProcessContext,
  env: Environment = readEnvironment(),
): Promise<ExitStatus> {
  try {
    const file = configFile(options.config, env);
    const load = () => loadConfig(file, env);
    const own = { config: load(), configFile: file, loadConfig: load };
    return await command({ ...around, ...own, clock: systemClock, json: options.json === true });
  } catch (error) {
    if (error instanceof UpdaterError) {
      around.complain(error.message);
      return statusOfError(error.code);
    }
    if (error instanceof SignetClientError) {
      around.complain(error.message);
      return exitStatus.usage;
    }
    throw error;
  }
}
