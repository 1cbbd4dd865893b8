import { join, resolve } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { Command, InvalidArgumentError } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import type { ArchiveKey } from '../full-backup/archive.ts';
import { unpackFullBackup } from '../full-backup/full-backup.ts';
import { kindOfBackup } from '../full-backup/kind-of-backup.ts';
import { readOwnFile } from '../keys/own-file.ts';
import { parseReason } from '../management/require-reason.ts';
import type { ChangeContext } from '../model/records.ts';
import { type BackupProof, readSealKey, restore as restoreBackup, sealKeyName } from '../store/maintenance.ts';
import { localActor } from './local-user.ts';
import { refuseSwappablePlace } from './own-folder.ts';
import { readPassphrase } from './passphrase.ts';
import { action, configPathOf, print, UsageError, warn } from './run.ts';

/** Maximum size of an identity file, above that of `age-keygen`. */
const identityBytes = 4096;

interface RestoreOptions {
  readonly into?: string;
  readonly passphraseFile?: string;
  readonly identity?: string;
  readonly digest?: string;
  readonly reason?: string;
  readonly json?: boolean;
}

/** `signet restore`: a backup in the place of the store. */
export function restoreCommand(): Command {
  return new Command('restore')
    .description('replace the store with a backup and start a new epoch; stop the servers first')
    .argument('<file>', 'file written by `signet backup`')
    .option(
      '--digest <hex>',
      'digest printed by `signet backup`; required if the key of its seal is not on this machine',
      parseDigest,
    )
    .option(
      '--into <folder>',
      'unpack a complete backup (`signet backup --all`) into a new folder, as a separate server',
    )
    .option('--passphrase-file <file>', 'file with the passphrase of a complete backup')
    .option('--identity <file>', 'file with the age secret key for a complete backup; requires `--digest`')
    .option('--reason <text>', 'reason, recorded in the audit log')
    .option('--json', 'print JSON')
    .action(
      action((file: string, options: RestoreOptions, command: Command) =>
        options.into === undefined ? restore(file, options, command) : unpack(file, options.into, options),
      ),
    );
}

function parseDigest(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new InvalidArgumentError('must be 64 hexadecimal digits');
  return text;
}

function contextOf({ reason }: RestoreOptions): ChangeContext {
  return { actor: localActor(), ...(reason !== undefined && { reason: parseReason(reason) }) };
}

async function restore(file: string, options: RestoreOptions, command: Command): Promise<void> {
  if (options.passphraseFile !== undefined || options.identity !== undefined) {
    throw new UsageError('`--passphrase-file` and `--identity` require `--into`');
  }
  if (kindOfBackup(file) === 'complete') {
    throw new UsageError(
      `\`${file}\` is a complete backup: unpack it with \`--into\`, and \`--passphrase-file\` or \`--identity\``,
    );
  }
  const { store, dataDir, keysDir } = loadConfig(configPathOf(command), processEnvironment());
  const context = contextOf(options);
  const proof: BackupProof =
    options.digest === undefined ? { sealKey: readSealKey(join(keysDir, sealKeyName)) } : { digest: options.digest };
  const restored = await restoreBackup(store, resolve(file), { clock: systemClock, context, proof, dataDir });
  if (options.json === true) return print(restored, true);
  const { kept, ...rest } = restored;
  const { lost, ...rows } = kept ?? { lost: ['everything'] };
  print({ ...rest, ...rows }, false);
  if (restored.replaced !== undefined && lost.length > 0) {
    warn(`not carried over from the replaced store: ${lost.join(', ')}`);
  }
}

async function unpack(file: string, into: string, options: RestoreOptions): Promise<void> {
  refuseSwappablePlace(resolve(into));
  if (kindOfBackup(file) === 'store') {
    throw new UsageError(
      `\`${file}\` is a backup of the store alone: run the command without \`--into\` to replace a store`,
    );
  }
  const given = { key: keyOf(options), clock: systemClock, context: contextOf(options) };
  const { storeBackup, ...unpacked } = await unpackFullBackup(resolve(file), into, given);
  const next =
    storeBackup === undefined
      ? `signet serve --config ${unpacked.config}`
      : `signet restore ${storeBackup} --config ${unpacked.config}`;
  print({ ...unpacked, ...(storeBackup !== undefined && { storeBackup }), next }, options.json);
}

/** Archive key of the options. Anyone with the public key can make an archive for it: the digest proves that it is the expected one. */
function keyOf({ passphraseFile, identity, digest }: RestoreOptions): ArchiveKey {
  if ((passphraseFile === undefined) === (identity === undefined)) {
    throw new UsageError('a complete backup requires either `--passphrase-file` or `--identity`');
  }
  if (passphraseFile !== undefined) return { passphrase: readPassphrase(passphraseFile), digest };
  if (digest === undefined) {
    throw new UsageError('`--identity` requires `--digest`: anyone can encrypt for its public key');
  }
  const lines = readOwnFile(identity ?? '', identityBytes)
    .toString('utf8')
    .split(/\r?\n/);
  return { identities: lines.filter((line) => line !== '' && !line.startsWith('#')), digest };
}
