import { Command } from 'commander';
import { type ConnectionOptions, connectionOptions, openClient } from './connection.ts';
import { action, CommandFailedError, print, printRaw } from './run.ts';

interface FetchOptions extends ConnectionOptions {
  readonly domain: string;
  readonly role?: readonly string[];
  readonly method?: string;
  readonly body?: string;
  readonly json?: boolean;
}

/** `signet fetch`: calls a protected service with the right token. */
export function fetchCommand(): Command {
  return connectionOptions(new Command('fetch'))
    .description('call a protected service with a token; exit status 1 unless it answers 2xx')
    .argument('<address>', 'https address of the service')
    .requiredOption('--domain <domain>', 'domain that the token is for')
    .option('--role <role...>', 'short names of roles (default: all that the caller holds there)')
    .option('--method <method>', 'e.g. PUT (default: GET, or POST with a body)')
    .option('--body <text>', 'what is sent')
    .option('--json', 'print JSON: status and body')
    .action(action(callService));
}

async function callService(address: string, options: FetchOptions): Promise<void> {
  await using client = openClient(options);
  const { domain, role, body } = options;
  const answer = await client.fetch(address, {
    token: { domain, ...(role !== undefined && { roles: role }) },
    method: options.method ?? (body === undefined ? 'GET' : 'POST'),
    ...(body !== undefined && { body }),
  });
  const text = await answer.text();
  if (options.json === true) print({ status: answer.status, body: text }, true);
  else printRaw(`${text}\n`);
  if (!answer.ok) throw new CommandFailedError();
}
