import { Command, CommanderError } from 'commander';
import { check } from './commands/check.ts';
import { type CommandContext, type CommandOptions, type ProcessContext, runCommand } from './commands/context.ts';
import { once } from './commands/once.ts';
import { run } from './commands/run.ts';
import { status } from './commands/status.ts';
import { type ExitStatus, exitStatus } from './exit-status.ts';

const commands: readonly [name: string, about: string, act: (context: CommandContext) => Promise<ExitStatus>][] = [
  ['run', 'keep the bundles fresh: a run at once, then one a minute, until SIGTERM; SIGHUP and SIGUSR1 run now', run],
  ['once', 'one run, then end', once],
  ['check', 'check configuration, certificate, policy directory and the bundles on disk, without the server', check],
  ['status', 'say how fresh each domain is, without the server', status],
];

const exitStatuses = `
Exit status: 0 everything fresh, 1 stale or refused by the server, 2 usage, configuration or unsafe directory,
3 no trusted connection to the server, 4 storage, 5 bad, expired or older bundle, 6 another updater has the directory.`;

/** Runs the command line and answers the exit status. `args` are the words after the program's name. */
export async function runProgram(args: readonly string[], around: ProcessContext): Promise<ExitStatus> {
  let result: ExitStatus = exitStatus.ok;
  const program = new Command('signet-updater')
    .description('Keeps the signed policy of this host fresh.')
    .addHelpText('after', exitStatuses)
    .exitOverride();
  for (const [name, about, act] of commands) {
    program
      .command(name)
      .description(about)
      .option('-c, --config <file>', 'configuration (default: SIGNET_UPDATER_CONFIG, else .signet/updater.yaml)')
      .option('--json', 'answer as JSON')
      .action(async (options: CommandOptions) => {
        result = await runCommand(act, options, around);
      });
  }
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? exitStatus.ok : exitStatus.usage;
  }
  return result;
}
