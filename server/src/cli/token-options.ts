import type { IdTokenQuery, TokenQuery } from '@signet/client';
import { type Command, InvalidArgumentError } from 'commander';

/** Requested token. */
export interface TokenOptions {
  readonly domain: string;
  readonly role?: readonly string[];
  readonly expiresIn?: number;
  readonly idToken?: string;
}

/** Adds the options that select a token to a command. */
export function tokenOptions(command: Command): Command {
  return command
    .requiredOption('--domain <domain>', 'domain of the token')
    .option('--role <role...>', 'short names of roles (default: all roles of the caller in the domain)')
    .option('--expires-in <seconds>', 'requested lifetime', wholeSeconds)
    .option(
      '--id-token <service>',
      'get an ID token for this service of the domain and output it instead of the access token',
    );
}

function wholeSeconds(value: string): number {
  if (!/^\d{1,10}$/.test(value)) throw new InvalidArgumentError('must be an integer (seconds)');
  return Number(value);
}

/** The same for the client; with `service` the ID token is wanted. */
export function tokenQuery(options: TokenOptions): TokenQuery & Partial<Pick<IdTokenQuery, 'service'>> {
  const { domain, role, expiresIn, idToken: service } = options;
  return {
    domain,
    ...(role !== undefined && { roles: role }),
    ...(expiresIn !== undefined && { expiresIn }),
    ...(service !== undefined && { service }),
  };
}
