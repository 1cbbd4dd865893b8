import { Command } from 'commander';
import { type ConnectionOptions, connectionOptions, openClient } from './connection.ts';
import { action, CommandFailedError, print } from './run.ts';

interface ListOptions extends ConnectionOptions {
  readonly domain: string;
  readonly principal?: string;
  readonly json?: boolean;
}

interface CheckOptions extends ListOptions {
  readonly principal: string;
}

/** `signet roles`: who holds which roles. */
export function rolesCommand(): Command {
  const list = connectionOptions(new Command('list'))
    .description('list the roles of a principal in a domain')
    .requiredOption('--domain <domain>', 'domain of the roles')
    .option('--principal <name>', 'principal to check (default: the caller)')
    .option('--json', 'print JSON')
    .action(action(listRoles));
  const check = connectionOptions(new Command('check'))
    .description('check whether a principal is in a role; exit status 1 if it is not')
    .argument('<role>', 'short name of the role')
    .requiredOption('--domain <domain>', 'domain of the roles')
    .requiredOption('--principal <name>', 'principal to check')
    .option('--json', 'print JSON')
    .action(action(checkRole));
  return new Command('roles')
    .description('list the roles of a principal, or check one')
    .addCommand(list)
    .addCommand(check);
}

async function listRoles(options: ListOptions): Promise<void> {
  await using client = openClient(options);
  const { domain, principal } = options;
  const roles = await client.roles.list({ domain, ...(principal !== undefined && { principal }) });
  if (options.json === true) print({ roles }, true);
  else for (const role of roles) print(role, false);
}

async function checkRole(role: string, options: CheckOptions): Promise<void> {
  await using client = openClient(options);
  const granted = await client.access.inRole({ domain: options.domain, role, principal: options.principal });
  print(options.json === true ? { granted } : granted ? 'in the role' : 'not in the role', options.json);
  if (!granted) throw new CommandFailedError();
}
