import { Command } from 'commander';
import { explainConfig, loadConfig } from '../../config/config.ts';
import { processEnvironment } from '../../config/env.ts';
import { sealingOf } from '../../config/private-keys.ts';
import { action, configPathOf, print } from '../run.ts';
import { explainOption } from './explain.ts';

/** `signet config`: what is in force, whether it can be used, and what each option means. */
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
  config
    .command('explain')
    .description('say what an option means, its type, default and an example; without an option, list the sections')
    .argument('[option]', 'dotted name of an option or section, e.g. `tls.renew` or `certificates.issuers[].state`')
    .option('--updater', 'an option of updater.yaml instead of signet.yaml')
    .option('--json', 'print JSON')
    .action(
      action((option: string | undefined, options: { updater?: boolean; json?: boolean }) =>
        print(explainOption(option, options), options.json),
      ),
    );
  return config;
}
