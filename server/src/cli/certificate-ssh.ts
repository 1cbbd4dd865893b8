import { Command, InvalidArgumentError, Option } from 'commander';
import { revocationReasons } from '../model/certificate-store.ts';
import { type ConnectionOptions, connectionOptions, openClient } from './connection.ts';
import { action, print, UsageError } from './run.ts';

interface RevokeSshOptions extends ConnectionOptions {
  readonly serial?: bigint;
  readonly keyId?: string;
  readonly reason: string;
  readonly json?: boolean;
}

/** `signet certificate revoke-ssh`: what the owner of an SSH certificate may do, and an operator. Asks the server. */
export function revokeSshCommand(): Command {
  return connectionOptions(new Command('revoke-ssh'))
    .description('revoke SSH certificates: they are added to the list for sshd (`GET /sshcert/krl`)')
    .addOption(
      new Option('--serial <number>', 'serial number, as `ssh-keygen -L` shows it')
        .argParser(serialNumber)
        .conflicts('keyId'),
    )
    .option('--key-id <id>', 'every valid certificate with this key ID, such as `user:media.player`')
    .addOption(new Option('--reason <reason>', 'why').choices(revocationReasons).default('unspecified'))
    .option('--json', 'print JSON')
    .action(action(revokeSsh));
}

function serialNumber(text: string): bigint {
  if (!/^[1-9]\d{0,19}$/.test(text)) throw new InvalidArgumentError('must be a decimal number');
  return BigInt(text);
}

async function revokeSsh(options: RevokeSshOptions): Promise<void> {
  const { serial, keyId, reason } = options;
  if (serial === undefined && keyId === undefined) throw new UsageError('--serial or --key-id is required');
  await using client = openClient(options);
  const revoked = await client.ssh.revoke({ serial, keyId, reason });
  print(options.json === true ? { revoked } : `${revoked} revoked`, options.json);
}
