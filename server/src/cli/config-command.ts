import { Command } from 'commander';
import { explainConfig, loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { sealingOf } from '../config/private-keys.ts';
import { action, configPathOf, print } from './run.ts';

/** `signet config check`: every option in force and where its value came from; everything that is wrong at once. */
export function configCommand(): Command {
  const config = new Command('config').description('the configuration of the server');
  config
    .command('check')
    .description('check the configuration; print each option in force and where it came from')
    .option('--json', 'print JSON')
    .action(
      action((options: { json?: boolean }, command: Command) => {
        const config = loadConfig(configPathOf(command), processEnvironment());
        sealingOf(config);
        print(explainConfig(config), options.json);
      }),
    );
  return config;
}
