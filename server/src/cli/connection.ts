import { createClient, type SignetClient } from '@signet/client';
import { type Command, Option } from 'commander';
import { readDevState } from './dev/state.ts';
import { UsageError } from './run.ts';

/** Which server a command asks, and as whom. */
export interface ConnectionOptions {
  readonly as?: string;
  readonly data: string;
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly url?: string;
}

/** Gives a command the options that say which server it asks, and as whom. */
export function connectionOptions(command: Command): Command {
  return command
    .addOption(new Option('--as <service>', 'identity of `npm start`, e.g. media.player').conflicts(['cert', 'key']))
    .option('--data <folder>', 'folder of `npm start`', '.signet')
    .option('--cert <file>', 'client certificate with its chain, PEM')
    .option('--key <file>', 'its key, PEM')
    .option('--ca <file>', 'CA certificates that the server is checked against, PEM (default: those of `npm start`)')
    .option('--url <url>', 'base URL of the server (default: that of `npm start`)');
}

/** Connects on first use; the caller closes it. Throws `UsageError` when the options do not say as whom. */
export function openClient(options: ConnectionOptions): SignetClient {
  const { cert, key } = certificateFiles(options);
  const needsState = options.ca === undefined || options.url === undefined;
  const state = needsState ? readDevState(options.data) : undefined;
  return createClient({
    baseUrl: options.url ?? state?.baseUrl ?? '',
    caBundle: options.ca ?? state?.caBundle ?? '',
    certificate: cert,
    key,
  });
}

function certificateFiles(options: ConnectionOptions): { cert: string; key: string } {
  if (options.as === undefined) {
    if (options.cert === undefined || options.key === undefined) throw new UsageError('give --as, or --cert and --key');
    return { cert: options.cert, key: options.key };
  }
  const { identities } = readDevState(options.data);
  const name = options.as.toLowerCase();
  const files = Object.hasOwn(identities, name) ? identities[name] : undefined;
  if (files !== undefined) return files;
  throw new UsageError(`no identity \`${name}\`: there are ${Object.keys(identities).join(', ')}`);
}
