import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { backUp, ensureSealKey, sealKeyName } from '../store/maintenance.ts';
import { action, configPathOf, print } from './run.ts';

/** `signet backup`: a copy of the store, also while it is served. */
export function backupCommand(): Command {
  return new Command('backup')
    .description('copy the store into a new file, as of one instant, while servers go on; keys are files of their own')
    .argument('<file>', 'the new file')
    .option('--json', 'print JSON')
    .action(
      action(async (file: string, options: { json?: boolean }, command: Command) => {
        const { store, keysDir } = loadConfig(configPathOf(command), processEnvironment());
        const sealKey = ensureSealKey(join(keysDir, sealKeyName));
        print({ file: resolve(file), digest: await backUp(store, resolve(file), sealKey) }, options.json);
      }),
    );
}
