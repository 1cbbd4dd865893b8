import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createLogin, type LoginIssuer, writeIdentityFiles } from '@signet/client';
import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { Command, InvalidArgumentError } from 'commander';
import { escapeControls } from '../base/terminal-text.ts';
import { processEnvironment } from '../config/env.ts';
import { loginNonce } from '../people/login-nonce.ts';
import { readClientSettings } from './connection.ts';
import { readDevState } from './dev-state.ts';
import { clientFolder, refuseClientFolder, writeClientConfig } from './identity/client-folder.ts';
import { askIssuer } from './login/ask-issuer.ts';
import { browserCommand, openBrowser } from './login/open-browser.ts';
import { refuseOthersFolder } from './own-folder.ts';
import { action, print, UsageError } from './run.ts';
import { stopSignal } from './stop-signal.ts';
import { outputFolder } from './written-output.ts';

interface LoginOptions {
  readonly url?: string;
  readonly ca?: string;
  readonly serverIdentity?: string;
  readonly data: string;
  readonly out?: string;
  readonly issuer?: string;
  readonly issuerCa?: string;
  readonly clientSecretFile?: string;
  readonly browser: boolean;
  readonly timeout: number;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** `signet login`: a certificate for a person, by the login at an OpenID Connect issuer. */
export function loginCommand(): Command {
  return new Command('login')
    .description('log in with an OpenID Connect issuer that the server trusts, and get a short-lived certificate')
    .option('--url <url>', 'base URL of the server (default: that of the previous login, or of `npm start`)')
    .option('--ca <file>', 'CA certificates to verify the server with, PEM (default: as for --url)')
    .option(
      '--server-identity <name>',
      'expected identity in the server certificate: a service, a SPIFFE ID, or `host-name` (default: sys.auth.server)',
    )
    .option('--data <folder>', 'data folder of `npm start`', '.signet')
    .option('--out <dir>', 'folder for cert.pem, key.pem, ca.pem and client.yaml (default: ~/.config/signet)')
    .option('--issuer <url>', 'issuer to use if the server trusts several')
    .option('--issuer-ca <file>', 'CA certificates to verify the issuer with, PEM (default: those of this machine)')
    .option('--client-secret-file <file>', 'secret of a confidential OAuth client')
    .option('--no-browser', 'print the address instead of opening a browser')
    .option('--timeout <seconds>', 'time limit for the login', parseSeconds, 300)
    .option('--force', 'overwrite files that were not written by a login')
    .option('--json', 'print JSON')
    .action(action(logIn));
}

function parseSeconds(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('it must be a number of seconds from 1 to 9999');
  return Number(text);
}

async function logIn(options: LoginOptions): Promise<void> {
  using stop = stopSignal();
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(options.timeout * 1000)]);
  const folder = outputFolder(options.out ?? usualFolder());
  refuseOthersFolder(folder, 'choose another folder with `--out`');
  const files = clientFolder(folder);
  if (options.force !== true && !existsSync(files.config)) refuseClientFolder(files);
  const server = serverOf(options, files.config);
  const login = await createLogin({ ...server, caBundle: readFile(server.caBundle) });
  const issuer = chosen(await login.issuers(signal), options.issuer);
  const salt = randomBytes(32).toString('base64url');
  const idToken = await askIssuer({
    issuer,
    nonce: loginNonce(salt, login.publicKey),
    ca: options.issuerCa && readFile(options.issuerCa),
    clientSecret: options.clientSecretFile && readFile(options.clientSecretFile).trim(),
    show: (address) => show(address, options.browser),
    signal,
  });
  const given = await login.certificate({ issuer: issuer.issuer, idToken, salt }, signal);
  await writeClientConfig(files, server, true);
  const { principal, notAfter, ...texts } = given;
  await writeIdentityFiles(folder, texts, String(systemClock.now()));
  const { certificate, key, config } = files;
  print({ principal, notAfter: formatTimestamp(notAfter), certificate, key, config }, options.json);
}

function usualFolder(): string {
  return join(processEnvironment()['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'signet');
}

/** The server by the options, else that of the login before, else that of `npm start`. Throws `UsageError`. */
function serverOf({ url, ca, serverIdentity, data }: LoginOptions, configFile: string) {
  const before = readClientSettings(configFile);
  const identity = serverIdentity ?? before?.serverIdentity;
  const known = url !== undefined && ca !== undefined ? undefined : (before ?? readDevState(data, '--url and --ca'));
  const baseUrl = url ?? [known?.baseUrl ?? []].flat()[0] ?? '';
  if (URL.parse(baseUrl)?.protocol !== 'https:') throw new UsageError('--url must be an https address');
  return {
    baseUrl,
    caBundle: ca ?? known?.caBundle ?? '',
    ...(identity !== undefined && { serverIdentity: identity }),
  };
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError(`\`${file}\` cannot be read`);
  }
}

function chosen(issuers: readonly LoginIssuer[], wanted: string | undefined): LoginIssuer {
  const [first, second] = issuers;
  if (first === undefined) throw new UsageError('login is not configured on this server (`people.issuers`)');
  const names = issuers.map(({ issuer }) => issuer).join(', ');
  if (wanted === undefined) {
    if (second !== undefined) throw new UsageError(`select one with --issuer: ${names}`);
    return first;
  }
  const found = issuers.find(({ issuer }) => issuer === wanted);
  if (found === undefined) throw new UsageError(`this server does not trust the issuer \`${wanted}\`: ${names}`);
  return found;
}

/** Prints on standard error, as the result is on standard output. */
function show(address: string, mayOpen: boolean): void {
  process.stderr.write(`Log in at this address:\n${escapeControls(address)}\n`);
  if (!mayOpen || !process.stderr.isTTY) return;
  const command = browserCommand(process.platform, processEnvironment());
  if (command !== undefined) openBrowser(command, address);
}
