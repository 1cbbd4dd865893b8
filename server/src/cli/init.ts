import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { Command } from 'commander';
import { addressOctets } from '../base/ip-address.ts';
import { processEnvironment } from '../config/env.ts';
import { distributionPoint } from '../config/options/certificate-options.ts';
import { isLoopback } from '../config/store-place.ts';
import { type ProfileRules, profiles } from '../profile.ts';
import { isDnsName } from '../x509/naming.ts';
import { ask, askHidden, askWhether, canAsk } from './ask.ts';
import { parseAdministrator, usualAdministrator } from './init/administrator.ts';
import { addressOf } from './init/base-url.ts';
import { commandName } from './init/command-name.ts';
import { type AuthorityFiles, readAuthority } from './init/given-authority.ts';
import { refuseToOverwrite } from './init/new-folder.ts';
import { describeInitialised, nextSteps } from './init/next-steps.ts';
import { type PostgresOptions, postgresOptions, postgresSettings } from './init/postgres-options.ts';
import { profileOf, profileOption } from './init/profile-option.ts';
import { type Initialised, initialise } from './initialise.ts';
import { localActor } from './local-user.ts';
import { refuseOthersFolder, refuseSwappablePlace } from './own-folder.ts';
import { parsePort } from './parse-port.ts';
import { checkPassphrase, readPassphrase } from './passphrase.ts';
import { action, print, UsageError, warn } from './run.ts';

interface Options extends PostgresOptions {
  readonly profile?: ProfileRules['name'];
  readonly anonymousKeys?: boolean;
  readonly host: string;
  readonly port: number;
  readonly baseUrl?: string;
  readonly hostName: readonly string[];
  readonly operator?: string;
  readonly identity: readonly string[];
  readonly trustDomain: string;
  readonly nameConstraints?: true | readonly string[];
  readonly crlUrl?: readonly string[];
  readonly root?: string;
  readonly issuerCert?: string;
  readonly issuerKey?: string;
  readonly rootPassphraseFile?: string;
  readonly sealedKeys?: boolean;
  readonly json?: boolean;
}

/** `signet init DIR`: everything that a token server needs, in a folder of its own, and its first administrator. */
export function initCommand(): Command {
  const command = new Command('init')
    .description(
      'create a new server in a folder: authority, certificate, keys, store, first administrator, signet.yaml',
    )
    .argument('<folder>', 'folder to create (mode 0700); existing files are not overwritten')
    .addOption(profileOption())
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 selects a free port', parsePort, 4443)
    .option('--base-url <url>', 'base URL for clients (default: https://<first --host-name>:<port>/v1, else localhost)')
    .option('--host-name <name...>', 'additional host names and addresses in the server certificate', [])
    .option(
      '--operator <name>',
      `first administrator: a user such as user.jane, or a service of sys.auth (default: ${usualAdministrator})`,
    )
    .option('--identity <service...>', 'also issue a client certificate for `domain.service`', [])
    .option('--trust-domain <name>', 'trust domain of the SPIFFE IDs', 'signet.local')
    .option(
      '--name-constraints [name...]',
      'restrict the authority to the names of the trust domain and the server, and to these DNS names and networks',
    )
    .option('--crl-url <address...>', 'address of the revocation list, written into certificates; {issuer} is replaced')
    .option('--root <file>', 'certificate of an existing root; no authority is created')
    .option(
      '--issuer-cert <file>',
      'certificate of an issuing authority below that root, with all intermediate certificates',
    )
    .option('--issuer-key <file>', 'private key of that issuing authority (mode 0600); the root key is not needed')
    .option('--root-passphrase-file <file>', 'encrypt the root key with the passphrase in this file')
    .option('--sealed-keys', 'keep the signing keys in the store, encrypted with `sealing.key`, not in files')
    .option(
      '--anonymous-keys',
      'let verifiers without a client certificate, such as JWT libraries, read public keys and metadata',
    )
    .option('--json', 'print JSON; do not prompt');
  return postgresOptions(command).action(action(init));
}

async function init(folder: string, options: Options): Promise<void> {
  refuseOpenPlace(resolve(folder));
  const files = authorityFiles(options);
  const distributionPoints = options.crlUrl?.map(checkCrlUrl);
  const profile = options.profile ?? profileOf(processEnvironment()) ?? 'signet';
  const made = await initialise(
    {
      folder,
      profile,
      host: options.host,
      port: options.port,
      hosts: options.hostName.map(checkHostName),
      trustDomain: parseDomainName(options.trustDomain, 'trust domain'),
      nameConstraints: options.nameConstraints === true ? [] : options.nameConstraints,
      distributionPoints,
      authority: files && readAuthority(files, distributionPoints, systemClock),
      sealedKeys: options.sealedKeys,
      postgres: postgresSettings(options),
      identities: options.identity.map((name) => parsePrincipalName(name, '--identity')),
      actor: localActor(),
      ...(await whatIsMissing(options, profile)),
    },
    systemClock,
  );
  if (files !== undefined) warn(othersBelow);
  report(made, options.json === true);
}

const othersBelow =
  'each authority below this root can certify any name accepted by this server, including an administrator: ' +
  'choose a root without other issuing authorities';

/** The options of an authority that is there already; undefined without them. Throws `UsageError` when they are not complete, or contradict others. */
function authorityFiles(options: Options): AuthorityFiles | undefined {
  const { root, issuerCert, issuerKey, nameConstraints, rootPassphraseFile } = options;
  if (root === undefined && issuerCert === undefined && issuerKey === undefined) return undefined;
  if (root === undefined || issuerCert === undefined || issuerKey === undefined) {
    throw new UsageError('--root, --issuer-cert and --issuer-key must be used together');
  }
  if (nameConstraints !== undefined || rootPassphraseFile !== undefined) {
    throw new UsageError('--name-constraints and --root-passphrase-file cannot be used with --root');
  }
  return { root, issuerCert, issuerKey };
}

/** Completes the options on a terminal; elsewhere they have their defaults, or are required. */
async function whatIsMissing(options: Options, profile: ProfileRules['name']) {
  const { host, port, hostName, operator, rootPassphraseFile } = options;
  const asks = options.json !== true && canAsk();
  const name = operator ?? (asks ? await ask('Name of the first administrator', usualAdministrator) : undefined);
  const isOpen = !isLoopback(host) && options.baseUrl === undefined && hostName.length === 0 && port !== 0;
  const baseUrl =
    isOpen && asks ? await ask('Base URL for clients', addressOf(hostname(), port, profile)) : options.baseUrl;
  const rootPassphrase =
    rootPassphraseFile !== undefined
      ? readPassphrase(rootPassphraseFile)
      : asks && options.root === undefined
        ? await askNewPassphrase('Passphrase for the private key of the root (empty: not encrypted): ')
        : undefined;
  const anonymousKeys =
    options.anonymousKeys ?? (asks && !profiles[profile].anonymousKeys && (await askWhether(forAnyone)));
  return { administrator: parseAdministrator(name ?? usualAdministrator), baseUrl, rootPassphrase, anonymousKeys };
}

const forAnyone =
  'JWT libraries verify tokens without a client certificate. Allow them to read public keys and metadata?';

async function askNewPassphrase(question: string): Promise<string | undefined> {
  const first = await askHidden(question);
  if (first === undefined || first === '') return undefined;
  const passphrase = checkPassphrase(first);
  if ((await askHidden('Repeat the passphrase: ')) === passphrase) return passphrase;
  throw new UsageError('the two passphrases differ: nothing was created');
}

function report(made: Initialised, json: boolean): void {
  const script = process.argv[1] ?? 'signet';
  const signet = commandName({ script, cwd: process.cwd(), path: processEnvironment()['PATH'] ?? '' });
  if (json) print({ ...made, next: nextSteps(made, signet).flatMap(({ commands }) => commands) }, true);
  else print(describeInitialised(made, signet), false);
}

/** A name of one label is one of a local network. Throws `UsageError`. */
function checkHostName(text: string): string {
  if (addressOctets(text) !== undefined || isDnsName(text) || /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(text))
    return text;
  throw new UsageError(`--host-name must be a DNS name or an address, got \`${text}\``);
}

/** Throws `UsageError`. */
export function checkCrlUrl(text: string): string {
  const parsed = distributionPoint.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UsageError(`--crl-url ${parsed.error.issues[0]?.message}`);
}

/** Rejects a place that other users can write to: the folder becomes the authority of all services. Checked before any question. */
function refuseOpenPlace(folder: string): void {
  refuseSwappablePlace(folder);
  for (const path of [folder, ...['ca', 'data', 'identities', 'policies'].map((name) => join(folder, name))]) {
    refuseOthersFolder(path, 'choose another name');
  }
  refuseToOverwrite(folder);
}
