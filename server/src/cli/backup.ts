import { resolve } from 'node:path';
import { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { backUpStore } from '../store/sqlite/backup.ts';
import { action, configPathOf, print } from './run.ts';

/** `signet backup`: a copy of the store, also while it is served. */
export function backupCommand(): Command {
  return new Command('backup')
    .description('copy the store into a new file, as of one instant, while servers go on; keys are files of their own')
    .argument('<file>', 'the new file')
    .option('--json', 'print JSON')
    .action(
      action((file: string, options: { json?: boolean }, command: Command) => {
        const { storeFile } = loadConfig(configPathOf(command), processEnvironment());
        print({ file: resolve(file), digest: backUpStore(storeFile, resolve(file)) }, options.json);
      }),
    );
}
