import {
  type IdentityAgentOptions,
  type IdentityOutcome,
  identityPaths,
  openIdentityAgent,
  readIdentityFiles,
} from '@signet/client';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { writeLines } from '@signet/policy-engine/internal/output';
import { parsePathElement, parsePrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { Command, InvalidArgumentError, Option } from 'commander';
import { escapeControls } from '../base/terminal-text.ts';
import { processEnvironment } from '../config/env.ts';
import { createLogger, type Logger } from '../logger.ts';
import { followConfigFolder } from './connection.ts';
import { readDevState } from './dev-state.ts';
import { readAttestation } from './identity/attestation-option.ts';
import { showIdentity } from './identity/identity-status.ts';
import { issueCommand } from './identity/issue.ts';
import { runShell } from './identity/run-shell.ts';
import { action, CommandFailedError, print, UsageError } from './run.ts';
import { stopSignal } from './stop-signal.ts';

interface IdentityOptions {
  readonly url?: readonly string[];
  readonly ca?: string;
  readonly serverIdentity?: string;
  readonly data: string;
  readonly name: string;
  readonly provider: string;
  readonly instanceId: string;
  readonly dir: string;
  readonly attestation?: string;
  readonly attestationCommand?: string;
  readonly hostName?: string;
  readonly dnsName?: readonly string[];
  readonly address?: readonly string[];
  readonly sshHostKey?: string;
  readonly onRenew?: string;
  readonly trustDomain: string;
  readonly dnsSuffix?: string;
  readonly expiry?: number;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** `signet identity`: gets the certificate of an instance and keeps it, and has those of people made. */
export function identityCommand(): Command {
  const run = instanceOptions(new Command('run'))
    .description('register and renew the certificate until SIGINT or SIGTERM; register again if it expired')
    .action(action(runIdentity));
  const once = instanceOptions(new Command('once'))
    .description('register or renew if due, then exit')
    .option('--force', 'renew even if not due')
    .action(action(stepOnce));
  const status = new Command('status')
    .description('show the certificate in a folder and its renewal time; exit status 1 if it is missing or expired')
    .requiredOption('--dir <dir>', 'folder of the certificate')
    .option('--json', 'print JSON')
    .action(action(showIdentity));
  return new Command('identity')
    .description('get and renew the certificate of an instance, or issue one for a person')
    .addCommand(run)
    .addCommand(once)
    .addCommand(status)
    .addCommand(issueCommand());
}

function instanceOptions(command: Command): Command {
  return followConfigFolder(command)
    .option('--url <url...>', 'base URLs of the token servers, preferred server first (default: that of `npm start`)')
    .option('--ca <file>', 'CA certificates to verify the server with, PEM (default: those of `npm start`)')
    .option(
      '--server-identity <name>',
      'expected identity in the server certificate: a service, a SPIFFE ID, or `host-name` (default: sys.auth.server)',
    )
    .option('--data <folder>', 'data folder of `npm start`', '.signet')
    .requiredOption('--name <domain.service>', 'service of the instance')
    .requiredOption('--instance-id <id>', 'ID of the instance, unique for its provider')
    .requiredOption(
      '--dir <dir>',
      'folder for cert.pem, key.pem and issuers.pem; created if missing, replaced atomically',
    )
    .option('--provider <name>', 'attestation provider of the instance', 'sys.auth.server')
    .addOption(
      new Option(
        '--attestation <file>',
        'file with the attestation data (join token, signed token, document); read at each registration',
      ).conflicts('attestationCommand'),
    )
    .option(
      '--attestation-command <command>',
      'shell command that prints the attestation data; run at each registration',
    )
    .option('--host-name <name>', 'host of the instance; the provider must be authorized for it')
    .option('--dns-name <name...>', 'additional DNS names to request')
    .option(
      '--address <address...>',
      'IP address to request, which must be the source address of the request; the provider must be authorized for it',
    )
    .option(
      '--ssh-host-key <file>',
      'public key of the SSH server; also request an SSH host certificate, ssh-host-cert.pub',
    )
    .option('--on-renew <command>', 'shell command to run after each new certificate')
    .option('--trust-domain <name>', 'trust domain of the server', 'signet.local')
    .option('--dns-suffix <name>', 'suffix of the DNS names that the server issues (default: the trust domain)')
    .option('--expiry <seconds>', 'requested lifetime', wholeSeconds)
    .option('--json', 'print JSON');
}

function wholeSeconds(value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new InvalidArgumentError('must be an integer (seconds)');
  return Number(value);
}

function agentOptions(options: IdentityOptions): IdentityAgentOptions {
  const parts = splitPrincipal(parsePrincipalName(options.name, '--name'));
  const state =
    options.url === undefined || options.ca === undefined ? readDevState(options.data, '--url and --ca') : undefined;
  const urls = options.url ?? [state?.baseUrl ?? ''];
  if (parts === undefined || !urls.every((url) => URL.parse(url)?.protocol === 'https:')) {
    throw new UsageError('--name must be `domain.service` and --url an https address');
  }
  return {
    baseUrl: urls.map((url) => url.replace(/\/+$/, '')),
    caBundle: options.ca ?? state?.caBundle ?? '',
    serverIdentity: options.serverIdentity,
    folder: options.dir,
    instance: {
      ...parts,
      provider: parsePrincipalName(options.provider, '--provider'),
      instanceId: parsePathElement(options.instanceId, '--instance-id'),
      trustDomain: options.trustDomain,
      dnsSuffix: options.dnsSuffix,
      expirySeconds: options.expiry,
      hostname: options.hostName,
      dnsNames: options.dnsName,
      addresses: options.address,
      sshHostKey: options.sshHostKey,
    },
    attestation: () => readAttestation(options),
  };
}

const hookTimeoutMs = 60_000;

/** Runs what the operator wants done with a new certificate. Answers what went wrong. */
async function runHook(
  { onRenew, dir }: IdentityOptions,
  tell: Tell,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (onRenew === undefined) return undefined;
  const { certificate, key } = identityPaths(dir);
  const environment = { ...processEnvironment(), SIGNET_CERTIFICATE: certificate, SIGNET_KEY: key };
  const { status, output } = await runShell(onRenew, { environment, timeoutMs: hookTimeoutMs, signal });
  tell.output(output);
  return status === 0
    ? undefined
    : `the command of --on-renew ${status === undefined ? 'was terminated' : `ended with status ${status}`}`;
}

/** Reporter of the command. */
interface Tell {
  outcome(said: Outcome): void;
  /** Writes the output of the `--on-renew` command. */
  output(text: string): void;
}

/** Reports the result of a step, and of the hook after it. */
async function finish(
  outcome: IdentityOutcome,
  options: IdentityOptions,
  tell: Tell,
  signal?: AbortSignal,
): Promise<boolean> {
  if (outcome.kind !== 'registered' && outcome.kind !== 'refreshed') {
    tell.outcome(described(outcome));
    return outcome.kind === 'current';
  }
  const problem = await runHook(options, tell, signal);
  const texts = options.sshHostKey === undefined ? undefined : await readIdentityFiles(options.dir);
  const ssh = options.sshHostKey !== undefined && texts?.sshHostCertificate === undefined;
  tell.outcome({
    ...described(outcome),
    ...(ssh && { sshHostCertificate: 'not issued: its provider does not allow it, or the server issues none' }),
    ...(problem !== undefined && { problem }),
  });
  return problem === undefined;
}

interface Outcome {
  readonly outcome: IdentityOutcome['kind'];
  readonly error?: string;
  readonly problem?: string;
  readonly sshHostCertificate?: string;
  readonly notAfter?: string;
  readonly nextAt: string;
}

function described(outcome: IdentityOutcome): Outcome {
  const { kind, nextAt, notAfter } = outcome;
  return {
    outcome: kind,
    ...(outcome.kind === 'failed' && { error: outcome.error.serverMessage ?? outcome.error.message }),
    ...(notAfter !== undefined && { notAfter: formatTimestamp(notAfter) }),
    nextAt: formatTimestamp(nextAt),
  };
}

async function stepOnce(options: IdentityOptions): Promise<void> {
  const agent = openIdentityAgent(agentOptions(options));
  const outcome = await agent.step({ force: options.force === true });
  if (!(await finish(outcome, options, printed(options)))) throw new CommandFailedError();
}

function printed({ json }: IdentityOptions): Tell {
  return {
    outcome: (said) => print(said, json),
    output: (text) => void process.stderr.write(text),
  };
}

/** Reporter with one JSON object for each step of a long-running program, which goes on when they are not read. */
const streamed: Tell = {
  outcome: (said) => writeLines(`${escapeControls(JSON.stringify(said))}\n`),
  output: (text) => writeLines(text, process.stderr),
};

/** Reporter to the log, like other long-running programs (docs/reference/logs.md). */
function logged(logger: Logger): Tell {
  return {
    outcome: (said) => {
      if (said.outcome === 'failed') logger.error(said, 'no new certificate');
      else if (said.problem !== undefined) logger.error(said, 'new certificate, and its command failed');
      else logger.info(said, 'new certificate');
    },
    output: (output) => {
      if (output !== '') logger.info({ output }, 'command of --on-renew');
    },
  };
}

async function runIdentity(options: IdentityOptions): Promise<void> {
  using stop = stopSignal();
  const agent = openIdentityAgent(agentOptions(options));
  const tell = options.json === true ? streamed : logged(createLogger('info'));
  await agent.run(stop.signal, async (outcome) => {
    // No change, and none before the next step: not worth a line.
    if (outcome.kind !== 'current') await finish(outcome, options, tell, stop.signal);
  });
}
