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
    .description('send a request with an access token to a service; exit status 1 unless the status is 2xx')
    .argument('<address>', 'https URL to call')
    .requiredOption('--domain <domain>', 'domain of the token')
    .option('--role <role...>', 'short names of roles (default: all roles of the caller in the domain)')
    .option('--method <method>', 'HTTP method (default: GET, or POST with a body)')
    .option('--body <text>', 'request body')
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
