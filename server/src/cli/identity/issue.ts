import { readFileSync } from 'node:fs';
import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { Command, InvalidArgumentError } from 'commander';
import { type ConnectionOptions, clientSettings, connectionOptions, openClient } from '../connection.ts';
import { action, print, UsageError, warn } from '../run.ts';
import { outputFolder, writeOutput } from '../written-output.ts';
import { clientFolder, refuseClientFolder, writeClientConfig } from './client-folder.ts';

interface IssueOptions extends ConnectionOptions {
  readonly days?: number;
  readonly out: string;
  readonly csr?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** `signet identity issue`: a certificate for a person or a service, by an operator. */
export function issueCommand(): Command {
  return connectionOptions(new Command('issue'))
    .description('issue a certificate for a person or a service; system operators only')
    .argument('<principal>', '`user.<name>`, or a service `domain.service`')
    .requiredOption(
      '--out <dir>',
      'folder for cert.pem, key.pem (mode 0600), ca.pem and client.yaml; created if missing',
    )
    .option('--days <number>', 'requested lifetime (default: set by the server, 7 days)', parseDays)
    .option('--csr <file>', 'certificate signing request, PEM; no key is created here (default: create a key)')
    .option('--force', 'overwrite existing files')
    .option('--json', 'print JSON')
    .action(action(issueIdentity));
}

export function parseDays(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('must be a number of days from 1 to 999');
  return Number(text);
}

/** Warns when a certificate ends before the requested days: the output has only the end. Times in milliseconds. */
export function warnOfShorterLife(days: number | undefined, askedAt: number, notAfter: number): void {
  // A day is the shortest life that can be asked for: an hour is a clock that is off.
  if (days === undefined || askedAt + days * 86_400_000 - notAfter <= 3_600_000) return;
  warn(`it expires at ${formatTimestamp(notAfter)}: the server does not allow a lifetime of ${days} days`);
}

async function issueIdentity(principal: string, options: IssueOptions): Promise<void> {
  const { days, csr, force = false } = options;
  const name = parsePrincipalName(principal, 'principal');
  const files = clientFolder(outputFolder(options.out));
  if (!force) refuseClientFolder(files);
  const { baseUrl, caBundle, serverIdentity } = clientSettings(options);
  const askedAt = systemClock.now();
  await using client = openClient(options);
  const issued = await client.certificates.issue({
    principal: name,
    ...(days !== undefined && { expiresIn: days * 86_400 }),
    ...(csr !== undefined && { csr: readRequest(csr) }),
  });
  // The key first: who finds a certificate finds the key that goes with it.
  if (issued.key !== undefined) await writeOutput(files.key, issued.key, { force });
  await writeOutput(files.certificate, issued.certificate, { force, mode: 0o644 });
  await writeClientConfig(files, { baseUrl, caBundle, serverIdentity }, force);
  const { key, ...others } = files;
  const written = issued.key === undefined ? others : { key, ...others };
  print({ principal: name, notAfter: formatTimestamp(issued.notAfter), ...written }, options.json);
  warnOfShorterLife(days, askedAt, issued.notAfter);
}

function readRequest(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError(`\`${file}\` cannot be read`);
  }
}
