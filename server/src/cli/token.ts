import { text } from 'node:stream/consumers';
import type { AccessToken, SignetClient } from '@signet/client';
import { systemClock } from '@signet/policy-engine/clock';
import type { AccessTokenResponse } from '@signet/policy-engine/wire';
import { Command } from 'commander';
import { type ConnectionOptions, connectionOptions, openClient, readClientSettings } from './connection.ts';
import { readDevState } from './dev-state.ts';
import { checkSignature, type DecodedToken, decodeToken, describeToken, type SignatureState } from './inspect-token.ts';
import { principalTokenCommand } from './principal-token-command.ts';
import { action, CommandFailedError, describeError, print } from './run.ts';
import { type TokenOptions, tokenOptions, tokenQuery } from './token-options.ts';
import { tokenRunCommand } from './token-run.ts';

interface GetOptions extends ConnectionOptions, TokenOptions {
  readonly json?: boolean;
}

interface InspectOptions extends ConnectionOptions {
  readonly json?: boolean;
}

/** `signet token`: gets tokens from a server and shows what is in them. */
export function tokenCommand(): Command {
  const get = tokenOptions(connectionOptions(new Command('get')))
    .description('get an access token and print it')
    .option('--json', 'print the complete response as JSON')
    .action(action(getToken));
  const inspect = connectionOptions(new Command('inspect'))
    .description('show the content of a token, and verify its signature if the keys are available')
    .argument('[token]', 'the token; `-` or omitted: standard input')
    .option('--json', 'print JSON')
    .action(action(inspectToken));
  return new Command('token')
    .description('get, refresh, sign and inspect tokens')
    .addCommand(get)
    .addCommand(tokenRunCommand())
    .addCommand(inspect)
    .addCommand(principalTokenCommand());
}

async function getToken(options: GetOptions): Promise<void> {
  await using client = openClient(options);
  const { service, ...query } = tokenQuery(options);
  if (service === undefined) {
    const token = await client.tokens.get(query);
    print(options.json === true ? asResponse(token) : token.accessToken, options.json);
  } else {
    const token = await client.tokens.getId({ ...query, service });
    print(options.json === true ? { ...asResponse(token), id_token: token.idToken } : token.idToken, options.json);
  }
}

/** The answer in the form that the server gave it. */
function asResponse(token: AccessToken): AccessTokenResponse {
  const { exp, iat } = decodeToken(token.accessToken).claims;
  return {
    access_token: token.accessToken,
    token_type: token.tokenType,
    expires_in: Number(exp) - Number(iat),
    scope: token.scope.join(' '),
  };
}

async function inspectToken(argument: string | undefined, options: InspectOptions): Promise<void> {
  const given = argument === undefined || argument === '-' ? await text(process.stdin) : argument;
  const { token, header, claims } = decodeToken(given);
  const signature = await signatureState(token, header, options);
  const decoded: DecodedToken = { header, claims };
  print(
    options.json === true ? { ...decoded, signature } : describeToken(decoded, signature, systemClock.now()),
    options.json,
  );
  if (signature.kind === 'fails') throw new CommandFailedError();
}

async function signatureState(
  token: string,
  header: DecodedToken['header'],
  options: ConnectionOptions,
): Promise<SignatureState> {
  try {
    await using client = openClientAsAnyone(options);
    const { keys } = await client.keys();
    return await checkSignature(token, header['kid'], keys);
  } catch (error) {
    return { kind: 'unchecked', reason: `no keys: ${describeError(error)}` };
  }
}

/** The keys are the same for everyone: without an identity in the options or in a configuration, any of `npm start` will do. */
function openClientAsAnyone(options: ConnectionOptions): SignetClient {
  const { as, cert, configFile } = options;
  if (as !== undefined || cert !== undefined || readClientSettings(configFile) !== undefined)
    return openClient(options);
  const [first] = Object.keys(readDevState(options.data).identities);
  return openClient(first === undefined ? options : { ...options, as: first });
}
