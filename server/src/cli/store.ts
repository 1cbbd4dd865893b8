import { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { checkStore } from '../store/sqlite/check.ts';
import { action, CommandFailedError, configPathOf, print } from './run.ts';

/** `signet store check`. */
export function storeCommand(): Command {
  const store = new Command('store').description('the store of the server');
  store
    .command('check')
    .description('look at every page and row; exit status 1 when something is wrong')
    .argument('[file]', 'a backup (default: the store of the configuration)')
    .option('--json', 'print JSON')
    .action(
      action(async (file: string | undefined, options: { json?: boolean }, command: Command) => {
        const checked = file ?? loadConfig(configPathOf(command), processEnvironment()).storeFile;
        const { faults, ...found } = await checkStore(checked);
        if (options.json === true) print({ ...found, faults }, true);
        else {
          print(found, false);
          for (const fault of faults) print(`fault: ${fault}`, false);
        }
        if (faults.length > 0) throw new CommandFailedError();
      }),
    );
  return store;
}
