import { join, resolve } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { Command } from 'commander';
import { loadConfig, type ServerConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import type { ArchiveLock } from '../full-backup/archive.ts';
import { makeFullBackup } from '../full-backup/full-backup.ts';
import { backUp, ensureSealKey, sealKeyName } from '../store/maintenance.ts';
import { readPassphrase } from './passphrase.ts';
import { action, configPathOf, print, UsageError } from './run.ts';

interface BackupOptions {
  readonly all?: boolean;
  readonly passphraseFile?: string;
  readonly recipient?: readonly string[];
  readonly json?: boolean;
}

/** `signet backup`: a copy of the store, or of everything that a server needs, also while it is served. */
export function backupCommand(): Command {
  return new Command('backup')
    .description('write a backup of the store to a new file; servers may run; `--all` includes keys and configuration')
    .argument('<file>', 'file to create')
    .option('--all', 'include configuration, keys, certificates and domain documents; encrypted in age format')
    .option('--passphrase-file <file>', 'encrypt with the passphrase in this file')
    .option('--recipient <key...>', 'encrypt for these age public keys (age1…)')
    .option('--json', 'print JSON')
    .action(
      action(async (file: string, options: BackupOptions, command: Command) => {
        const config = loadConfig(configPathOf(command), processEnvironment());
        const made =
          options.all === true
            ? backUpAll(config, resolve(file), options)
            : backUpStore(config, resolve(file), options);
        print(await made, options.json);
      }),
    );
}

async function backUpStore({ store, keysDir }: ServerConfig, file: string, options: BackupOptions) {
  if (options.passphraseFile !== undefined || options.recipient !== undefined) {
    throw new UsageError(
      '`--passphrase-file` and `--recipient` require `--all`: a backup of the store alone is not encrypted',
    );
  }
  const sealKey = ensureSealKey(join(keysDir, sealKeyName));
  return { file, digest: await backUp(store, file, sealKey) };
}

async function backUpAll(config: ServerConfig, file: string, options: BackupOptions) {
  const made = await makeFullBackup(config, file, lockOf(options), systemClock);
  return { file, ...made, files: made.files.length };
}

function lockOf({ passphraseFile, recipient }: BackupOptions): ArchiveLock {
  if ((passphraseFile === undefined) === (recipient === undefined)) {
    throw new UsageError(
      'a complete backup includes all keys: encrypt it with either `--passphrase-file` or `--recipient`',
    );
  }
  return recipient === undefined ? { passphrase: readPassphrase(passphraseFile ?? '') } : { recipients: recipient };
}
