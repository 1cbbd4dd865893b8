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
    .description(
      'ask the token server whether a principal may do an action on a resource; exit status 1 when it may not',
    )
    .argument('<action>', 'e.g. read')
    .argument('<resource>', 'domain:entity, e.g. catalog:movie')
    .option('--principal <name>', 'about whom (default: the caller)')
    .option('--trust-domain <domain>', 'for assume_role: the domain whose policy decides')
    .option('--json', 'print JSON')
    .action(action(checkAccess));
  return new Command('access')
    .description('ask who may do what')
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
