import { Command, CommanderError } from 'commander';
import { exitStatus } from './cli/exit-status.ts';
import { usageMessage } from './cli/usage-message.ts';

type CommandEntry = readonly [name: string, about: string, load: () => Promise<Command>];

/**
 * Commands of `signet` by task, in the order of the help text, with their descriptions there. Each is loaded on use: `--version`, the help text and the
 * error for an unknown command load none, and a token needs no database.
 */
const commandGroups: readonly (readonly [heading: string, commands: readonly CommandEntry[]])[] = [
  [
    'Run a server:',
    [
      [
        'init',
        'create a new server in a folder: authority, certificate, keys, store, first administrator, signet.yaml',
        async () => (await import('./cli/init.ts')).initCommand(),
      ],
      [
        'serve',
        'run the token server until SIGINT or SIGTERM',
        async () => {
          const { keepYoungHeapSmall } = await import('./cli/young-heap.ts');
          keepYoungHeapSmall();
          return (await import('./cli/serve.ts')).serveCommand();
        },
      ],
      [
        'dev',
        'run token server, updater, example provider and console with sample data until Ctrl-C',
        async () => (await import('./dev/dev-command.ts')).devCommand(),
      ],
      [
        'doctor',
        'check certificate, chain, server, clock, keys and policy, and print what to do; exit status 1 on failure',
        async () => (await import('./cli/doctor.ts')).doctorCommand(),
      ],
      [
        'config',
        'check, show and explain the configuration of the server',
        async () => (await import('./cli/config/config-command.ts')).configCommand(),
      ],
      [
        'store',
        'check, migrate, copy and repair the store of the server',
        async () => (await import('./cli/store-command.ts')).storeCommand(),
      ],
      [
        'backup',
        'write a backup of the store to a new file; servers may run; `--all` includes keys and configuration',
        async () => (await import('./cli/backup-command.ts')).backupCommand(),
      ],
      [
        'restore',
        'replace the store with a backup and start a new epoch; stop the servers first',
        async () => (await import('./cli/restore-command.ts')).restoreCommand(),
      ],
    ],
  ],
  [
    'Change access:',
    [
      [
        'plan',
        'show what the domain documents in a folder would change, and who gains or loses access; exit status 1 if `signet apply` would refuse them',
        async () => (await import('./cli/plan/plan.ts')).planCommand(),
      ],
      [
        'apply',
        'apply the domain documents in a folder to the store in one transaction',
        async () => (await import('./cli/apply.ts')).applyCommand(),
      ],
      [
        'request',
        'request roles for a time; list and show change requests',
        async () => (await import('./cli/request/request-command.ts')).requestCommand(),
      ],
      [
        'approve',
        'approve the effect of a change request, or review a change made by break-glass',
        async () => (await import('./cli/request/decide-commands.ts')).approveCommand(),
      ],
      [
        'reject',
        'reject a change request',
        async () => (await import('./cli/request/decide-commands.ts')).rejectCommand(),
      ],
      [
        'withdraw',
        'withdraw a change request that the caller made',
        async () => (await import('./cli/request/decide-commands.ts')).withdrawCommand(),
      ],
      [
        'test',
        'run the policy tests in a folder against its domain documents',
        async () => (await import('./cli/test.ts')).testCommand(),
      ],
      [
        'import',
        'convert an export of another system to domain documents',
        async () => (await import('./cli/import-command.ts')).importCommand(),
      ],
      [
        'export',
        'write the domains in the store as domain documents; applying them unchanged has no effect',
        async () => (await import('./cli/export.ts')).exportCommand(),
      ],
      [
        'domain',
        'manage domains, which own roles, groups, policies and services',
        async () => (await import('./cli/manage/domain.ts')).domainCommand(),
      ],
      [
        'role',
        'manage roles and their members',
        async () => (await import('./cli/manage/member-list-commands.ts')).roleCommand(),
      ],
      [
        'group',
        'manage groups, which roles can have as members',
        async () => (await import('./cli/manage/member-list-commands.ts')).groupCommand(),
      ],
      [
        'policy',
        'manage policies, which allow or deny actions to roles',
        async () => (await import('./cli/manage/policy.ts')).policyCommand(),
      ],
      [
        'service',
        'manage services and their public keys',
        async () => (await import('./cli/manage/service.ts')).serviceCommand(),
      ],
      [
        'search',
        'find the memberships of a principal, or the assertions that name a resource or action',
        async () => (await import('./cli/manage/search-command.ts')).searchCommand(),
      ],
      [
        'reviews',
        'list memberships due for review, oldest first',
        async () => (await import('./cli/manage/search-command.ts')).reviewsCommand(),
      ],
    ],
  ],
  [
    'Ask about access:',
    [
      [
        'access',
        'check, explain and list access',
        async () => (await import('./cli/access-command.ts')).accessCommand(),
      ],
      [
        'roles',
        'list the roles of a principal, or check one',
        async () => (await import('./cli/roles.ts')).rolesCommand(),
      ],
      ['audit', 'list, export and verify the audit log', async () => (await import('./cli/audit.ts')).auditCommand()],
      [
        'console',
        'open pages in the browser: requests, who may do what and why, certificates, audit log',
        async () => (await import('./cli/console.ts')).consoleCommand(),
      ],
    ],
  ],
  [
    'Get tokens and certificates:',
    [
      ['token', 'get, refresh, sign and inspect tokens', async () => (await import('./cli/token.ts')).tokenCommand()],
      [
        'fetch',
        'send a request with an access token to a service; exit status 1 unless the status is 2xx',
        async () => (await import('./cli/fetch.ts')).fetchCommand(),
      ],
      [
        'login',
        'log in with an OpenID Connect issuer that the server trusts, and get a short-lived certificate',
        async () => (await import('./cli/login-command.ts')).loginCommand(),
      ],
      [
        'identity',
        'get and renew the certificate of an instance, or issue one for a person',
        async () => (await import('./cli/identity.ts')).identityCommand(),
      ],
      [
        'cert',
        'get role certificates, service certificates and SSH certificates',
        async () => (await import('./cli/cert.ts')).certCommand(),
      ],
      ['aws', 'get temporary AWS credentials', async () => (await import('./cli/aws.ts')).awsCommand()],
    ],
  ],
  [
    'Keys, authorities and certificates:',
    [
      [
        'keys',
        'list, rotate and withdraw the keys that sign tokens and bundles',
        async () => (await import('./cli/keys.ts')).keysCommand(),
      ],
      [
        'ca',
        'create root and issuing authorities, replace them, and revoke their certificates',
        async () => (await import('./cli/ca.ts')).caCommand(),
      ],
      [
        'certificate',
        'show, list, issue and revoke certificates of this server',
        async () => (await import('./cli/certificate.ts')).certificateCommand(),
      ],
      [
        'instance',
        'list and delete instances of services, and create join tokens',
        async () => (await import('./cli/instance-command.ts')).instanceCommand(),
      ],
    ],
  ],
  [
    'For other programs:',
    [
      [
        'schema',
        'print the JSON Schema (draft 2020-12) of signet.yaml, updater.yaml, domain documents or policy tests',
        async () => (await import('./cli/config/schema-command.ts')).schemaCommand(),
      ],
      [
        'openapi',
        'print the OpenAPI document of the HTTP API',
        async () => (await import('./cli/openapi.ts')).openApiCommand(),
      ],
      [
        'completion',
        'print a completion script: `source <(signet completion bash)`',
        async () => (await import('./cli/completion.ts')).completionCommand(wholeProgram),
      ],
    ],
  ],
];

const commands = commandGroups.flatMap(([, entries]) => entries);

/** Command line without its actions. Loads the commands that `argv` may mean; the others are known by name. */
export async function createProgram(version: string, argv: readonly string[]): Promise<Command> {
  const program: Command = new Command('signet')
    .description('Machine identity and authorization: token server and administration')
    .version(version)
    .option('--config <file>', 'configuration file (default: SIGNET_CONFIG, else .signet/signet.yaml)')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(usageMessage(text, program, argv)) });
  for (const [heading, entries] of commandGroups) {
    for (const [name, about, load] of entries) {
      const command = argv.includes(name) ? await load() : new Command(name).description(about);
      inherit(command, program);
      program.addCommand(command.helpGroup(heading));
    }
  }
  // The arguments of a command that is not loaded are unknown: the list omits them for all.
  return program.configureHelp({ subcommandTerm: (command) => command.name() });
}

/** The command line with every command loaded: what describes all of it starts from here. */
export function wholeProgram(): Promise<Command> {
  return createProgram(
    '',
    commands.map(([name]) => name),
  );
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
