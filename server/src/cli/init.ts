import { join, resolve } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { Command } from 'commander';
import { distributionPoint } from '../config/options/certificate-options.ts';
import { initialise } from './initialise.ts';
import { refuseOthersFolder, refuseSwappablePlace } from './own-folder.ts';
import { parsePort } from './parse-port.ts';
import { action, print, UsageError } from './run.ts';

interface Options {
  readonly host: string;
  readonly port: number;
  readonly hostName: readonly string[];
  readonly identity: readonly string[];
  readonly trustDomain: string;
  readonly nameConstraints?: true | readonly string[];
  readonly crlUrl?: readonly string[];
  readonly sealedKeys?: boolean;
  readonly json?: boolean;
}

/** `signet init DIR`: everything that a token server needs, in a folder of its own. */
export function initCommand(): Command {
  return new Command('init')
    .description('make authority, server certificate, keys, store and signet.yaml in a new folder')
    .argument('<folder>', 'where to make them (mode 0700); nothing is overwritten')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on, 0 for a free one', parsePort, 4443)
    .option('--host-name <name...>', 'further names and addresses of the server certificate', [])
    .option('--identity <service...>', 'also make a client certificate for `domain.service`', [])
    .option('--trust-domain <name>', 'host of the SPIFFE ids', 'signet.local')
    .option(
      '--name-constraints [name...]',
      'the authority may certify only names of the trust domain, of the server, and these (DNS names, networks)',
    )
    .option('--crl-url <address...>', 'where certificates say that their revocation list is, with {issuer}')
    .option(
      '--sealed-keys',
      'seal the signing keys in the store, with `sealing.key`, instead of writing files for them',
    )
    .option('--json', 'print JSON')
    .action(
      action(async (folder: string, options: Options) => {
        refuseOpenPlace(resolve(folder));
        const made = await initialise(
          {
            folder,
            host: options.host,
            port: options.port,
            hosts: options.hostName,
            trustDomain: parseDomainName(options.trustDomain, 'trust domain'),
            nameConstraints: options.nameConstraints === true ? [] : options.nameConstraints,
            distributionPoints: options.crlUrl?.map(checkCrlUrl),
            sealedKeys: options.sealedKeys,
            identities: options.identity.map((name) => parsePrincipalName(name, 'identity')),
          },
          systemClock,
        );
        print(made, options.json);
      }),
    );
}

function checkCrlUrl(text: string): string {
  const parsed = distributionPoint.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UsageError(`--crl-url ${parsed.error.issues[0]?.message}`);
}

/** What is made here is the authority of everybody: no one else may have a hand in it. */
function refuseOpenPlace(folder: string): void {
  refuseSwappablePlace(folder);
  for (const path of [folder, ...['ca', 'data', 'identities'].map((name) => join(folder, name))]) {
    refuseOthersFolder(path, 'choose another one');
  }
}
