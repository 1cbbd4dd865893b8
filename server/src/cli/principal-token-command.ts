import { readFileSync } from 'node:fs';
import { createPrincipalTokenSource } from '@signet/client';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { parsePrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { Command, InvalidArgumentError } from 'commander';
import { readDevState } from './dev-state.ts';
import { action, print, UsageError } from './run.ts';

interface PrincipalOptions {
  readonly service: string;
  readonly signingKey?: string;
  readonly keyId: string;
  readonly data: string;
  readonly expiresIn?: number;
  readonly json?: boolean;
}

/** `signet token principal`: signs a principal token; asks no server. */
export function principalTokenCommand(): Command {
  return new Command('principal')
    .description('sign a principal token, the value of the header `Svc-Principal-Auth`')
    .requiredOption('--service <domain.service>', 'service that the token is for')
    .option('--signing-key <file>', 'private key of a registered public key, PEM (default: that of `npm start`)')
    .option('--key-id <id>', 'ID of the registered public key', '0')
    .option('--data <folder>', 'data folder of `npm start`', '.signet')
    .option('--expires-in <seconds>', 'lifetime of the token (default: an hour)', wholeSeconds)
    .option('--json', 'print JSON')
    .action(action(printToken));
}

function wholeSeconds(value: string): number {
  if (!/^[1-9]\d{0,6}$/.test(value)) throw new InvalidArgumentError('must be an integer (seconds)');
  return Number(value);
}

function printToken(options: PrincipalOptions): void {
  const name = parsePrincipalName(options.service, '--service');
  const parts = splitPrincipal(name);
  if (parts === undefined) throw new UsageError('--service: must be `domain.service`');
  const { expiresIn, keyId } = options;
  const { token, expiresAt } = createPrincipalTokenSource({
    ...parts,
    keyId,
    privateKey: readKey(options.signingKey ?? readDevState(options.data, '--signing-key').identities[name]?.key),
    ...(expiresIn !== undefined && { lifetimeSeconds: expiresIn }),
  }).get();
  print(options.json === true ? { token, expiresAt: formatTimestamp(expiresAt) } : token, options.json);
}

function readKey(file: string | undefined): string {
  if (file === undefined) throw new UsageError('--signing-key is required: `npm start` has no such service');
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError(`\`${file}\` cannot be read`);
  }
}
