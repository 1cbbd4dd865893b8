import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type ClientOptions, createClient, type SignetClient } from '@signet/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parse, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { ConfigError } from '../config/config-error.ts';
import { readDevState } from './dev-state.ts';
import { configPath, trusted, UsageError } from './run.ts';

/** Server and identity of a command. */
export interface ConnectionOptions {
  readonly as?: string;
  readonly data: string;
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly url?: string;
  readonly serverIdentity?: string;
  /** Seconds for which a server that is busy or unavailable is asked again; of commands that use the management API. */
  readonly timeout?: number;
  /** The configuration file in force, set before the command runs. */
  readonly configFile?: string;
}

/** Client settings in a configuration: `updater.yaml` is one. Paths are relative to the file; other members are not read. */
const settingsSchema = z.object({
  baseUrl: z.union([z.string(), z.array(z.string())]),
  certificate: z.string(),
  key: z.string(),
  caBundle: z.string(),
  serverIdentity: z.string().exactOptional(),
});

type Settings = Pick<ClientOptions, 'baseUrl' | 'certificate' | 'key' | 'caBundle' | 'serverIdentity'>;

/** Adds the options for server and identity to a command. */
export function connectionOptions(command: Command): Command {
  return followConfigFolder(command)
    .addOption(
      new Option('--as <service>', 'use an identity created by `npm start`, such as media.player').conflicts([
        'cert',
        'key',
      ]),
    )
    .option('--data <folder>', 'data folder of `npm start`', '.signet')
    .option('--cert <file>', 'client certificate with its chain, PEM')
    .option('--key <file>', 'private key of the certificate, PEM')
    .option('--ca <file>', 'CA certificates to verify the server with, PEM (default: those of `npm start`)')
    .option('--url <url>', 'base URL of the server (default: that of `npm start`)')
    .option(
      '--server-identity <name>',
      'expected identity in the server certificate: a service, a SPIFFE ID, or `host-name` (default: sys.auth.server)',
    )
    .hook('preAction', (_, called) => void called.setOptionValue('configFile', configPath(called.optsWithGlobals())));
}

/** Default of `--timeout`. */
export const usualRetryTimeout = 120;

/** The same for a command that uses the management API. */
export function managementOptions(command: Command): Command {
  return connectionOptions(command).option(
    '--timeout <seconds>',
    'retry for this long while the server is busy or unavailable (429, 503); 0: do not retry',
    retrySeconds,
    usualRetryTimeout,
  );
}

function retrySeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('must be a number of seconds from 0 to 9999');
  return Number(text);
}

/** The configuration of `npm start` is in the folder of `npm start`: `--data` follows from it. */
export function followConfigFolder(command: Command): Command {
  return command.hook('preAction', (_, called) => {
    if (called.getOptionValueSource('data') === 'default')
      called.setOptionValue('data', dirname(configPath(called.optsWithGlobals())));
  });
}

/** Connects on first use; the caller closes it. Throws `UsageError` when neither options nor configuration say as whom. */
export function openClient(options: ConnectionOptions, more: Partial<ClientOptions> = {}): SignetClient {
  return createClient({ ...more, ...clientSettings(options) });
}

/** The files and the address of a client: from the options, else from the configuration, else from `npm start`. */
export function clientSettings(options: ConnectionOptions): Settings {
  if (options.url !== undefined && URL.parse(options.url)?.protocol !== 'https:') {
    throw new UsageError(
      `--url must be an https address, such as https://signet.example:4443/v1, got \`${options.url}\``,
    );
  }
  const configured = isComplete(options) ? undefined : readClientSettings(options.configFile);
  const serverIdentity = options.serverIdentity ?? configured?.serverIdentity;
  const own = { ...certificateFiles(options, configured), ...(serverIdentity !== undefined && { serverIdentity }) };
  if (options.ca !== undefined && options.url !== undefined) {
    return { ...own, baseUrl: options.url, caBundle: options.ca };
  }
  const known = configured ?? readDevState(options.data);
  return { ...own, baseUrl: options.url ?? known.baseUrl, caBundle: options.ca ?? known.caBundle };
}

/** True if the options leave nothing for a file. */
function isComplete({ cert, key, ca, url }: ConnectionOptions): boolean {
  return cert !== undefined && key !== undefined && ca !== undefined && url !== undefined;
}

/** Client settings of the file; undefined if it is absent or a configuration of another program. */
export function readClientSettings(file: string | undefined): Settings | undefined {
  const found = file === undefined ? undefined : readSettings(file);
  return typeof found === 'string' ? undefined : found;
}

/** Client settings of the file, or why there are none. Throws `UsageError`, and `ConfigError` where it is not YAML. */
function readSettings(file: string): Settings | string {
  let text: string;
  try {
    text = readFileSync(trusted(file), 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'failed';
    return `\`${file}\` cannot be read (${code})`;
  }
  const settings = settingsSchema.safeParse(parseSettings(file, text));
  if (!settings.success) {
    return `\`${file}\` is not a client configuration: baseUrl, certificate, key and caBundle are required`;
  }
  const at = (path: string) => resolve(dirname(file), path);
  const { certificate, key, caBundle, ...rest } = settings.data;
  return { ...rest, certificate: at(certificate), key: at(key), caBundle: at(caBundle) };
}

function parseSettings(file: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw error;
    throw new ConfigError(file, [error.message.split('\n')[0]?.replace(/:$/, '') ?? 'not YAML']);
  }
}

function certificateFiles(
  { as, cert, key, data, configFile }: ConnectionOptions,
  configured: Settings | undefined,
): Pick<Settings, 'certificate' | 'key'> {
  if (as === undefined) {
    if (cert !== undefined && key !== undefined) return { certificate: cert, key };
    if (configured !== undefined) return { certificate: configured.certificate, key: configured.key };
    const found = configFile === undefined ? undefined : readSettings(configFile);
    const why = typeof found === 'string' ? `${found}: ` : '';
    throw new UsageError(`${why}use --as, or --cert and --key, or --config with a client configuration`);
  }
  const { identities } = readDevState(data);
  const name = as.toLowerCase();
  const files = Object.hasOwn(identities, name) ? identities[name] : undefined;
  if (files !== undefined) return { certificate: files.cert, key: files.key };
  throw new UsageError(`unknown identity \`${name}\`; available: ${Object.keys(identities).join(', ')}`);
}
