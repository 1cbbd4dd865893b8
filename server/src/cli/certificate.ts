import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { Command, Option } from 'commander';
import { InvalidRequestError } from '../errors.ts';
import { parseSerial, type ShownCertificate, shownRow } from '../management/certificates.ts';
import { type RevocationReason, revocationReasons } from '../model/certificate-store.ts';
import { issueLocallyCommand } from './certificate-issue.ts';
import { certificateSource, withStore } from './certificate-source.ts';
import { revokeSshCommand } from './certificate-ssh.ts';
import type { ConnectionOptions } from './connection.ts';
import { action, print, UsageError } from './run.ts';
import { sourceOptions } from './source.ts';

interface CertificateOptions extends ConnectionOptions {
  readonly json?: boolean;
}

interface RevokeOptions extends CertificateOptions {
  readonly reason: RevocationReason;
}

interface ListOptions extends CertificateOptions {
  readonly holder: string;
  readonly all?: boolean;
}

/** `signet certificate`: certificates that were issued, for their holders and for operators. */
export function certificateCommand(): Command {
  const show = sourceOptions(new Command('show').description('show the record of a certificate'))
    .argument('<serial>', 'serial number, hexadecimal')
    .option('--json', 'print JSON')
    .action(action(showCertificate));
  const list = sourceOptions(
    new Command('list').description('list the valid certificates of a principal, those that end last first'),
  )
    .requiredOption('--holder <principal>', 'holder of the certificates')
    .option('--all', 'also expired and revoked ones')
    .option('--json', 'print JSON')
    .action(action(listCertificates));
  const revoke = sourceOptions(
    new Command('revoke').description(
      'revoke a certificate: it is added to the revocation list, and servers refuse it within their refresh interval',
    ),
  )
    .argument('<serial>', 'serial number, hexadecimal')
    .addOption(new Option('--reason <reason>', 'why').choices(revocationReasons).default('unspecified'))
    .option('--json', 'print JSON')
    .action(action(revokeCertificate));
  const orphans = new Command('orphans')
    .description('list certificates that may have been signed but not delivered because a server stopped')
    .option('--json', 'print JSON')
    .action(action(listOrphans));
  return new Command('certificate')
    .description('show, list, issue and revoke certificates of this server')
    .addCommand(show)
    .addCommand(list)
    .addCommand(issueLocallyCommand())
    .addCommand(revoke)
    .addCommand(revokeSshCommand())
    .addCommand(orphans);
}

/** A certificate on one line or with one value a field. */
function printed({ state, revoked, ...fields }: ShownCertificate): Record<string, unknown> {
  if (revoked !== undefined) return { ...fields, state: `revoked ${revoked.at} (${revoked.reason})` };
  return { ...fields, state: state === 'valid' ? 'issued' : state };
}

function serialOf(text: string): string {
  try {
    return parseSerial(text);
  } catch (error) {
    throw error instanceof InvalidRequestError ? new UsageError(error.message) : error;
  }
}

async function showCertificate(serial: string, options: CertificateOptions, command: Command): Promise<void> {
  print(printed(await certificateSource(options, command).show(serialOf(serial))), options.json);
}

async function listCertificates({ holder, all, ...options }: ListOptions, command: Command): Promise<void> {
  const found = await certificateSource(options, command).list(parsePrincipalName(holder), all === true);
  print(found.map(printed), options.json);
}

async function revokeCertificate(serial: string, options: RevokeOptions, command: Command): Promise<void> {
  print(printed(await certificateSource(options, command).revoke(serialOf(serial), options.reason)), options.json);
}

/** Younger intents may belong to a request under way. */
const settledSeconds = 300;

async function listOrphans(options: CertificateOptions, command: Command): Promise<void> {
  const before = epochSeconds(systemClock) - settledSeconds;
  const rows = await withStore(command, ({ certificates }) => certificates.orphans(before));
  print(rows.map(shownRow), options.json);
}
