import type { PublishedKeys } from '@signet/client';
import { Command } from 'commander';
import { ybase64 } from '../base/ybase64.ts';
import { publicKeyPem } from '../keys/public-key-pem.ts';
import { type ConnectionOptions, clientSettings, connectionOptions, openClient } from './connection.ts';
import { action, UsageError } from './run.ts';
import { writeOutput } from './written-output.ts';

interface ConfOptions extends ConnectionOptions {
  readonly out?: string;
  readonly force?: boolean;
}

/** `signet keys athenz-conf`: the file by which Athenz's clients know a server and its keys. */
export function athenzConfCommand(): Command {
  return connectionOptions(new Command('athenz-conf'))
    .description('print athenz.conf for hosts with Athenz clients: address and public keys of a server')
    .option('--out <file>', 'output file (mode 0644; default: standard output)')
    .option('--force', 'overwrite the file of --out')
    .action(action(writeConf));
}

async function writeConf(options: ConfOptions): Promise<void> {
  if (options.force === true && options.out === undefined) throw new UsageError('--force requires --out');
  const [baseUrl = ''] = [clientSettings(options).baseUrl].flat();
  await using client = openClient(options);
  const text = `${JSON.stringify(athenzConf(baseUrl, await client.keys()), undefined, 2)}\n`;
  if (options.out === undefined) process.stdout.write(text);
  else await writeOutput(options.out, text, { force: options.force === true, mode: 0o644 });
}

/** Both servers of Athenz are this one, with the same keys: some clients look for one, some for the other. */
function athenzConf(baseUrl: string, { keys }: PublishedKeys) {
  const address = baseUrl.replace(/\/+$/, '');
  const listed = keys.map((key) => ({ id: key.kid, key: ybase64(publicKeyPem(key)) }));
  return { zmsUrl: address, ztsUrl: address, zmsPublicKeys: listed, ztsPublicKeys: listed };
}
