import { Command } from 'commander';
import { type ConnectionOptions, connectionOptions, openClient } from './connection.ts';
import { explainCommand, whoCommand } from './explain-command.ts';
import { listCommand } from './list-access-command.ts';
import { action, CommandFailedError, print } from './run.ts';

interface CheckOptions extends ConnectionOptions {
  readonly principal?: string;
  readonly trustDomain?: string;
  readonly json?: boolean;
}

/** `signet access`: queries about access. */
export function accessCommand(): Command {
  const check = connectionOptions(new Command('check'))
    .description('check on the token server whether a principal may do an action on a resource; exit status 1 if not')
    .argument('<action>', 'e.g. read')
    .argument('<resource>', 'domain:entity, e.g. catalog:movie')
    .option('--principal <name>', 'principal to check (default: the caller)')
    .option('--trust-domain <domain>', 'for assume_role: domain whose policy is evaluated')
    .option('--json', 'print JSON')
    .action(action(checkAccess));
  return new Command('access')
    .description('check, explain and list access')
    .addCommand(check)
    .addCommand(explainCommand())
    .addCommand(whoCommand())
    .addCommand(listCommand());
}

async function checkAccess(actionName: string, resource: string, options: CheckOptions): Promise<void> {
  await using client = openClient(options);
  const { principal, trustDomain } = options;
  const granted = await client.access.check({
    action: actionName,
    resource,
    ...(principal !== undefined && { principal }),
    ...(trustDomain !== undefined && { trustDomain }),
  });
  print(options.json === true ? { granted } : granted ? 'granted' : 'not granted', options.json);
  if (!granted) throw new CommandFailedError();
}
