import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  type IdentityAgent,
  type IdentityAgentOptions,
  type IdentityOutcome,
  identityPaths,
  openIdentityAgent,
  readIdentityFiles,
} from '@signet/client';
import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { parsePathElement, parsePrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { Command, InvalidArgumentError } from 'commander';
import { readDevState } from './dev/state.ts';
import { action, CommandFailedError, print, UsageError } from './run.ts';
import { stopSignal } from './stop-signal.ts';

interface IdentityOptions {
  readonly url?: string;
  readonly ca?: string;
  readonly data: string;
  readonly name: string;
  readonly provider: string;
  readonly instanceId: string;
  readonly dir: string;
  readonly attestation?: string;
  readonly trustDomain: string;
  readonly dnsSuffix?: string;
  readonly expiry?: number;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** `signet identity`: gets the certificate of an instance and keeps it. */
export function identityCommand(): Command {
  const run = instanceOptions(new Command('run'))
    .description(
      'keep the certificate until told to stop: register, renew in time, register anew when it came too late',
    )
    .action(action(runIdentity));
  const once = instanceOptions(new Command('once'))
    .description('do what is due now: register, renew, or nothing')
    .option('--force', 'renew now')
    .action(action(stepOnce));
  const status = new Command('status')
    .description('show the certificate in a folder; exit status 1 when there is none or it has ended')
    .requiredOption('--dir <dir>', 'folder of the certificate')
    .option('--json', 'print JSON')
    .action(action(showStatus));
  return new Command('identity')
    .description('get and keep the certificate of an instance')
    .addCommand(run)
    .addCommand(once)
    .addCommand(status);
}

function instanceOptions(command: Command): Command {
  return command
    .option('--url <url>', 'base URL of the token server (default: that of `npm start`)')
    .option('--ca <file>', 'CA certificates that the server must chain to (default: those of `npm start`)')
    .option('--data <folder>', 'folder of `npm start`', '.signet')
    .requiredOption('--name <domain.service>', 'the service that this is an instance of')
    .requiredOption('--instance-id <id>', 'id of the instance, unique for its provider')
    .requiredOption('--dir <dir>', 'folder for cert.pem, key.pem and issuers.pem')
    .option('--provider <name>', 'who vouches for the instance', 'sys.auth.server')
    .option(
      '--attestation <file>',
      'what is presented to register (join token, signed token, document); read each time',
    )
    .option('--trust-domain <name>', 'trust domain of the server', 'signet.local')
    .option('--dns-suffix <name>', 'end of the DNS names that the server gives (default: the trust domain)')
    .option('--expiry <seconds>', 'life to ask for', wholeSeconds)
    .option('--json', 'print JSON');
}

function wholeSeconds(value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new InvalidArgumentError('it must be a whole number of seconds');
  return Number(value);
}

function agentOptions(options: IdentityOptions): IdentityAgentOptions {
  const parts = splitPrincipal(parsePrincipalName(options.name, '--name'));
  const state = options.url === undefined || options.ca === undefined ? readDevState(options.data) : undefined;
  const url = options.url ?? state?.baseUrl ?? '';
  if (parts === undefined || URL.parse(url)?.protocol !== 'https:') {
    throw new UsageError('--name must be `domain.service` and --url an https address');
  }
  return {
    baseUrl: url.replace(/\/+$/, ''),
    caBundle: options.ca ?? state?.caBundle ?? '',
    folder: options.dir,
    instance: {
      ...parts,
      provider: parsePrincipalName(options.provider, '--provider'),
      instanceId: parsePathElement(options.instanceId, '--instance-id'),
      trustDomain: options.trustDomain,
      dnsSuffix: options.dnsSuffix,
      expirySeconds: options.expiry,
    },
    attestation: () => readAttestation(options.attestation),
  };
}

/** Read whenever it is needed: platforms renew the tokens that they put into files. */
async function readAttestation(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return (await readFile(file, 'utf8')).trim() || undefined;
  } catch {
    return undefined;
  }
}

function described(outcome: IdentityOutcome): Record<string, unknown> {
  const { kind, nextAt, notAfter } = outcome;
  return {
    outcome: kind,
    ...(outcome.kind === 'failed' && { error: outcome.error.serverMessage ?? outcome.error.message }),
    ...(notAfter !== undefined && { notAfter: formatTimestamp(notAfter) }),
    nextAt: formatTimestamp(nextAt),
  };
}

async function stepOnce(options: IdentityOptions): Promise<void> {
  const agent: IdentityAgent = openIdentityAgent(agentOptions(options));
  const outcome = await agent.step({ force: options.force === true });
  print(described(outcome), options.json);
  if (outcome.kind === 'failed') throw new CommandFailedError();
}

async function runIdentity(options: IdentityOptions): Promise<void> {
  using stop = stopSignal();
  const agent = openIdentityAgent(agentOptions(options));
  await agent.run(stop.signal, (outcome) => {
    // Nothing happened and nothing will until then: not worth a line.
    if (outcome.kind !== 'current') print(described(outcome), options.json);
  });
}

async function showStatus(options: Pick<IdentityOptions, 'dir' | 'json'>): Promise<void> {
  const texts = await readIdentityFiles(options.dir);
  if (texts === undefined) {
    print({ state: 'missing' }, options.json);
    throw new CommandFailedError();
  }
  const leaf = new X509Certificate(texts.certificate);
  const notAfter = leaf.validToDate.getTime();
  const ended = notAfter <= systemClock.now();
  const subject = leaf.subject.replace(/^CN=/, '');
  const serial = leaf.serialNumber.toLowerCase();
  const { certificate, key } = identityPaths(options.dir);
  print(
    { state: ended ? 'ended' : 'valid', subject, serial, notAfter: formatTimestamp(notAfter), certificate, key },
    options.json,
  );
  if (ended) throw new CommandFailedError();
}
