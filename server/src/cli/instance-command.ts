import type { InstanceQuery } from '@signet/client';
import { parsePrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { Command } from 'commander';
import { type ConnectionOptions, connectionOptions, openClient } from './connection.ts';
import { given, list, type ReadOptions, reader } from './manage/commands.ts';
import { action, print, UsageError } from './run.ts';

interface InstanceOptions extends ConnectionOptions {
  readonly provider: string;
  readonly json?: boolean;
}

/** `signet instance`: what operators do with the instances of services. */
export function instanceCommand(): Command {
  const token = instanceOptions(new Command('token'))
    .description('create a join token for the registration of an instance')
    .action(action(printToken));
  const remove = instanceOptions(new Command('delete'))
    .description('delete an instance and refuse its certificates')
    .action(action(deleteInstance));
  const all = reader('list', 'list the instances of a domain')
    .argument('<domain>')
    .option('--service <name>', 'only instances of this service')
    .action(action(listInstances));
  return new Command('instance')
    .description('list and delete instances of services, and create join tokens')
    .addCommand(all)
    .addCommand(token)
    .addCommand(remove);
}

function listInstances(domain: string, options: ReadOptions & { readonly service?: string }): Promise<void> {
  return list(options, ['domains', domain, 'instances'], given({ service: options.service }));
}

function instanceOptions(command: Command): Command {
  return connectionOptions(command)
    .argument('<domain.service>', 'service of the instance')
    .argument('<instance-id>', 'ID of the instance')
    .option('--provider <name>', 'attestation provider of the instance', 'sys.auth.server')
    .option('--json', 'print JSON');
}

function queryOf(name: string, instanceId: string, provider: string): InstanceQuery {
  const parts = splitPrincipal(parsePrincipalName(name, 'service'));
  if (parts === undefined) throw new UsageError(`\`${name}\` is not a service`);
  return { ...parts, provider, instanceId };
}

async function printToken(name: string, instanceId: string, options: InstanceOptions): Promise<void> {
  await using client = openClient(options);
  const token = await client.instances.joinToken(queryOf(name, instanceId, options.provider));
  print(options.json === true ? { token } : token, options.json);
}

async function deleteInstance(name: string, instanceId: string, options: InstanceOptions): Promise<void> {
  await using client = openClient(options);
  await client.instances.delete(queryOf(name, instanceId, options.provider));
  print(options.json === true ? { deleted: true } : 'deleted', options.json);
}
