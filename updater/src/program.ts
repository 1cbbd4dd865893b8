import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import type { CommandContext, CommandOptions, ProcessContext } from './commands/context.ts';
import { type ExitStatus, exitStatus } from './exit-status.ts';

type Act = (context: CommandContext) => Promise<ExitStatus>;

/** Each is loaded when it is run: the help text needs none. */
const commands: readonly [name: string, about: string, load: () => Promise<Act>][] = [
  [
    'run',
    'keep the bundles up to date: one run at start, then one per minute, until SIGTERM; SIGUSR1 runs now, SIGHUP reloads the configuration first',
    async () => (await import('./commands/run.ts')).run,
  ],
  ['once', 'run once, then exit', async () => (await import('./commands/once.ts')).once],
  [
    'check',
    'check configuration, certificate, policy directory and the bundles on disk, without the server',
    async () => (await import('./commands/check.ts')).check,
  ],
  [
    'status',
    'show the age of the policy of each domain, without the server',
    async () => (await import('./commands/status.ts')).status,
  ],
];

const exitStatuses = `
Exit status: 0 all up to date, 1 stale or refused by the server, 2 usage, configuration or unsafe directory,
3 no trusted connection to the server, 4 storage, 5 bad, expired or older bundle, 6 another updater has the directory.`;

/** The command line: what it takes. `run` does what a command is for. */
export function createProgram(run: (load: () => Promise<Act>, options: CommandOptions) => Promise<void>): Command {
  const program = new Command('signet-updater')
    .description('Keeps the signed policy of this host up to date.')
    .version(packageVersion())
    .addHelpText('after', exitStatuses)
    .exitOverride();
  for (const [name, about, load] of commands) {
    program
      .command(name)
      .description(about)
      .option('-c, --config <file>', 'configuration (default: SIGNET_UPDATER_CONFIG, else .signet/updater.yaml)')
      .option('--json', 'print JSON')
      .action((options: CommandOptions) => run(load, options));
  }
  return program;
}

/** Runs the command line and answers the exit status. `args` are the words after the program's name. */
export async function runProgram(args: readonly string[], around: ProcessContext): Promise<ExitStatus> {
  let result: ExitStatus = exitStatus.ok;
  const program = createProgram(async (load, options) => {
    const { runCommand } = await import('./commands/context.ts');
    result = await runCommand(await load(), options, around);
  });
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? exitStatus.ok : exitStatus.usage;
  }
  return result;
}

/** The version of this package: one place says it. */
function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const known = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return known ? String(manifest.version) : 'unknown';
}
