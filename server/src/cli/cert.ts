import { readFileSync } from 'node:fs';
import type { RoleCertificate } from '@signet/client';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { Command, InvalidArgumentError } from 'commander';
import { certSshCommand } from './cert-ssh.ts';
import { type ConnectionOptions, connectionOptions, openClient } from './connection.ts';
import { action, print, UsageError } from './run.ts';
import { writeOutput } from './written-output.ts';

interface CertOptions extends ConnectionOptions {
  readonly expiresIn?: number;
  readonly certOut?: string;
  readonly json?: boolean;
}

interface RoleOptions extends CertOptions {
  readonly domain: string;
  readonly role: string;
  readonly csr?: string;
  readonly keyOut?: string;
}

interface RequestOptions extends CertOptions {
  readonly keyId?: string;
}

/** `signet cert`: gets certificates from a server. */
export function certCommand(): Command {
  const role = certOptions(new Command('role'))
    .description('get a role certificate for a role of the caller')
    .requiredOption('--domain <domain>', 'domain of the role')
    .requiredOption('--role <role>', 'short name of the role')
    .option('--csr <file>', 'certificate signing request, PEM (default: create a key)')
    .option('--key-out <file>', 'output file of the created key (mode 0600)')
    .action(action(getRoleCertificate));
  const request = certOptions(new Command('request'))
    .description('get a new certificate for the caller with its current key')
    .option('--key-id <id>', 'ID of the registered public key that matches the private key')
    .action(action(requestCertificate));
  const ssh = certSshCommand();
  return new Command('cert')
    .description('get role certificates, service certificates and SSH certificates')
    .addCommand(role)
    .addCommand(request)
    .addCommand(ssh);
}

function certOptions(command: Command): Command {
  return connectionOptions(command)
    .option('--expires-in <seconds>', 'requested lifetime', wholeSeconds)
    .option('--cert-out <file>', 'output file of the certificate with its chain (default: standard output)')
    .option('--json', 'print JSON');
}

function wholeSeconds(value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new InvalidArgumentError('must be an integer (seconds)');
  return Number(value);
}

async function getRoleCertificate(options: RoleOptions): Promise<void> {
  const { domain, role, csr: file, expiresIn, keyOut } = options;
  if (file === undefined && keyOut === undefined && options.json !== true) {
    throw new UsageError('use --key-out or --json to receive the created key, or --csr for an existing key');
  }
  await using client = openClient(options);
  const issued = await client.certificates.role({
    domain,
    role,
    ...(expiresIn !== undefined && { expiresIn }),
    ...(file !== undefined && { csr: readRequest(file) }),
  });
  await deliver(issued, options);
}

async function requestCertificate(options: RequestOptions): Promise<void> {
  await using client = openClient(options);
  const { expiresIn, keyId } = options;
  const asked = { ...(expiresIn !== undefined && { expiresIn }), ...(keyId !== undefined && { keyId }) };
  await deliver(await client.certificates.service(asked), options);
}

function readRequest(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError(`\`${file}\` cannot be read`);
  }
}

async function deliver(issued: RoleCertificate, options: CertOptions & { readonly keyOut?: string }): Promise<void> {
  const { certificate, key, notAfter } = issued;
  const { certOut, keyOut } = options;
  if (keyOut !== undefined && key !== undefined) await writeOutput(keyOut, key, { force: true });
  if (certOut !== undefined) await writeOutput(certOut, certificate, { force: true, mode: 0o644 });
  const shown = {
    ...(certOut === undefined && { certificate }),
    ...(keyOut === undefined && key !== undefined && { key }),
    notAfter: formatTimestamp(notAfter),
  };
  if (options.json === true) print(shown, true);
  else print(certOut === undefined ? certificate.trimEnd() : `valid until ${shown.notAfter}`, false);
}
