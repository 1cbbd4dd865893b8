import { readFileSync } from 'node:fs';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { Command } from 'commander';
import { type ConnectionOptions, connectionOptions, openClient } from './connection.ts';
import { action, print, UsageError } from './run.ts';
import { writeOutput } from './written-output.ts';

interface SshOptions extends ConnectionOptions {
  readonly login: readonly string[];
  readonly certOut?: string;
  readonly json?: boolean;
}

/** `signet cert ssh`: a certificate over the SSH key that an operator has, where `ssh` looks for it. */
export function certSshCommand(): Command {
  return connectionOptions(new Command('ssh'))
    .description('get an SSH user certificate for the caller')
    .argument('<key>', 'SSH key; only its `.pub` file is read')
    .requiredOption('--login <name...>', 'account to log in to, or `media:deploy` for an account of a domain')
    .option('--cert-out <file>', 'output file (default: `<key>-cert.pub`, which ssh finds automatically)')
    .option('--json', 'print JSON')
    .action(action(getSshCertificate));
}

async function getSshCertificate(key: string, options: SshOptions): Promise<void> {
  const stem = key.replace(/\.pub$/, '');
  const publicKey = readPublicKey(`${stem}.pub`);
  await using client = openClient(options);
  const issued = await client.ssh.user({ publicKey, logins: options.login });
  const file = options.certOut ?? `${stem}-cert.pub`;
  await writeOutput(file, `${issued.certificate}\n`, { force: true, mode: 0o644 });
  const { serial, keyId, principals, notAfter } = issued;
  const shown = { certificate: file, serial: serial.toString(), keyId, logins: principals };
  print({ ...shown, notAfter: formatTimestamp(notAfter) }, options.json);
}

function readPublicKey(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError(`\`${file}\` cannot be read`);
  }
}
