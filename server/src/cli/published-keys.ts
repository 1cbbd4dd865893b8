import { Command } from 'commander';
import { type ConnectionOptions, connectionOptions, openClient } from './connection.ts';
import { action, print } from './run.ts';

/** `signet keys published`: what a server answers to those who verify. */
export function publishedKeysCommand(): Command {
  return connectionOptions(new Command('published'))
    .description('list the public keys that a server publishes')
    .option('--json', 'print JSON')
    .action(action(printKeys));
}

async function printKeys(options: ConnectionOptions & { readonly json?: boolean }): Promise<void> {
  await using client = openClient(options);
  const { keys } = await client.keys();
  if (options.json === true) print({ keys }, true);
  else
    print(
      keys.map(({ kid, kty, alg, purpose }) => ({ kid, kty, alg, purpose: purpose ?? 'any' })),
      false,
    );
}
