import { join, resolve } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { Command, InvalidArgumentError } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { parseReason } from '../management/require-reason.ts';
import { type BackupProof, readSealKey, restore as restoreBackup, sealKeyName } from '../store/maintenance.ts';
import { localActor } from './local-user.ts';
import { action, configPathOf, print, warn } from './run.ts';

interface RestoreOptions {
  readonly digest?: string;
  readonly reason?: string;
  readonly json?: boolean;
}

/** `signet restore`: a backup in the place of the store. */
export function restoreCommand(): Command {
  return new Command('restore')
    .description('put a backup in the place of the store, under a new epoch; stop the servers first')
    .argument('<file>', 'what `signet backup` wrote')
    .option('--digest <hex>', 'what `signet backup` printed, for a backup that was sealed elsewhere', parseDigest)
    .option('--reason <text>', 'why, for the audit log')
    .option('--json', 'print JSON')
    .action(action(restore));
}

function parseDigest(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new InvalidArgumentError('must be 64 hexadecimal digits');
  return text;
}

async function restore(file: string, options: RestoreOptions, command: Command): Promise<void> {
  const { store, dataDir, keysDir } = loadConfig(configPathOf(command), processEnvironment());
  const context = {
    actor: localActor(),
    ...(options.reason !== undefined && { reason: parseReason(options.reason) }),
  };
  const proof: BackupProof =
    options.digest === undefined ? { sealKey: readSealKey(join(keysDir, sealKeyName)) } : { digest: options.digest };
  const restored = await restoreBackup(store, resolve(file), { clock: systemClock, context, proof, dataDir });
  if (options.json === true) return print(restored, true);
  const { kept, ...rest } = restored;
  const { lost, ...rows } = kept ?? { lost: ['everything'] };
  print({ ...rest, ...rows }, false);
  if (restored.replaced !== undefined && lost.length > 0) {
    warn(`of the store that was replaced this was not kept: ${lost.join(', ')}`);
  }
}
