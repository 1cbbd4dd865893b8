import { Command, CommanderError } from 'commander';
import { exitStatus } from './cli/run.ts';

/** Every command of `signet`, in the order of the help text. Each is loaded when it is asked for: a token needs no database. */
const commands: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['init', async () => (await import('./cli/init.ts')).initCommand()],
  ['serve', async () => (await import('./cli/serve.ts')).serveCommand()],
  ['dev', async () => (await import('./dev/dev-command.ts')).devCommand()],
  ['plan', async () => (await import('./cli/plan.ts')).planCommand()],
  ['apply', async () => (await import('./cli/apply.ts')).applyCommand()],
  ['domain', async () => (await import('./cli/manage/domain.ts')).domainCommand()],
  ['role', async () => (await import('./cli/manage/member-list-commands.ts')).roleCommand()],
  ['group', async () => (await import('./cli/manage/member-list-commands.ts')).groupCommand()],
  ['policy', async () => (await import('./cli/manage/policy.ts')).policyCommand()],
  ['service', async () => (await import('./cli/manage/service.ts')).serviceCommand()],
  ['search', async () => (await import('./cli/manage/search-command.ts')).searchCommand()],
  ['reviews', async () => (await import('./cli/manage/search-command.ts')).reviewsCommand()],
  ['export', async () => (await import('./cli/export.ts')).exportCommand()],
  ['import', async () => (await import('./cli/import-command.ts')).importCommand()],
  ['test', async () => (await import('./cli/test.ts')).testCommand()],
  ['token', async () => (await import('./cli/token.ts')).tokenCommand()],
  ['access', async () => (await import('./cli/access-command.ts')).accessCommand()],
  ['identity', async () => (await import('./cli/identity.ts')).identityCommand()],
  ['certificate', async () => (await import('./cli/certificate.ts')).certificateCommand()],
  ['instance', async () => (await import('./cli/instance-command.ts')).instanceCommand()],
  ['ca', async () => (await import('./cli/ca.ts')).caCommand()],
  ['aws', async () => (await import('./cli/aws.ts')).awsCommand()],
  ['fetch', async () => (await import('./cli/fetch.ts')).fetchCommand()],
  ['roles', async () => (await import('./cli/roles.ts')).rolesCommand()],
  ['cert', async () => (await import('./cli/cert.ts')).certCommand()],
  ['audit', async () => (await import('./cli/audit.ts')).auditCommand()],
  ['keys', async () => (await import('./cli/keys.ts')).keysCommand()],
  ['backup', async () => (await import('./cli/backup-command.ts')).backupCommand()],
  ['restore', async () => (await import('./cli/restore-command.ts')).restoreCommand()],
  ['store', async () => (await import('./cli/store-command.ts')).storeCommand()],
  ['config', async () => (await import('./cli/config-command.ts')).configCommand()],
  ['openapi', async () => (await import('./cli/openapi.ts')).openApiCommand()],
  ['doctor', async () => (await import('./cli/doctor.ts')).doctorCommand()],
  ['completion', async () => (await import('./cli/completion.ts')).completionCommand(() => createProgram('', []))],
]);

/** The command line: what it takes, and nothing of what it does. Holds the commands that `argv` may mean, or all of them. */
export async function createProgram(version: string, argv: readonly string[]): Promise<Command> {
  const program = new Command('signet')
    .description('Machine identity and authorization: token server and its tools')
    .version(version)
    .option('--config <file>', 'configuration file (default: SIGNET_CONFIG, else .signet/signet.yaml)')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'signet: ')) });
  const meant = [...commands].filter(([name]) => argv.includes(name));
  for (const [, load] of meant.length > 0 ? meant : commands) {
    const command = await load();
    inherit(command, program);
    program.addCommand(command);
  }
  return program;
}

/** A command made apart from its program has none of its settings. */
function inherit(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent);
  for (const below of command.commands) inherit(below, command);
}

/** Help for a command that there is not would look like an answer. Throws `CommanderError`. */
function refuseUnknown(command: Command, argv: readonly string[]): void {
  const { operands, unknown } = command.parseOptions([...argv]);
  const [name, ...rest] = operands;
  if (name === undefined || name === 'help' || command.commands.length === 0) return;
  const below = command.commands.find((each) => each.name() === name);
  if (below === undefined) command.error(`error: unknown command '${name}'`, { code: 'commander.unknownCommand' });
  else refuseUnknown(below, [...rest, ...unknown]);
}

/** Runs one command line and answers its exit status; `process.exitCode` is what the command itself decided. */
export async function runProgram(program: Command, argv: readonly string[]): Promise<number> {
  try {
    if (argv.some((word) => word === '--help' || word === '-h')) refuseUnknown(program, argv);
    await program.parseAsync([...argv], { from: 'user' });
    return Number(process.exitCode ?? exitStatus.done);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const asked = error.exitCode === 0;
    return asked ? exitStatus.done : exitStatus.usage;
  }
}
