import { systemClock } from '@signet/policy-engine/clock';
import { Command } from 'commander';
import { explainConfig, loadConfig, type ServerConfig } from '../../config/config.ts';
import { processEnvironment } from '../../config/env.ts';
import { report } from '../doctor/report.ts';
import { action, configPathOf, print } from '../run.ts';
import { checkConfig } from './check-config.ts';
import { explainOption } from './explain.ts';

/** `signet config`: what is in force, whether it can be used, and what each option means. */
export function configCommand(): Command {
  const config = new Command('config').description('check, show and explain the configuration of the server');
  config
    .command('check')
    .description('check options, files, addresses and store, and print what to do; exit status 1 on failure')
    .option('--json', 'print JSON')
    .action(
      action(async (options: { json?: boolean }, command: Command) =>
        report(await checkConfig(configOf(command), systemClock.now()), options.json),
      ),
    );
  config
    .command('show')
    .description('print each option with its current value and the source of that value')
    .option('--json', 'print JSON')
    .action(
      action((options: { json?: boolean }, command: Command) => print(explainConfig(configOf(command)), options.json)),
    );
  config
    .command('explain')
    .description('describe an option with its type, default and an example; without an option, list the sections')
    .argument('[option]', 'dotted name of an option or section, e.g. `tls.renew` or `certificates.issuers[].state`')
    .option('--updater', 'describe an option of updater.yaml instead of signet.yaml')
    .option('--json', 'print JSON')
    .action(
      action((option: string | undefined, options: { updater?: boolean; json?: boolean }) =>
        print(explainOption(option, options), options.json),
      ),
    );
  return config;
}

function configOf(command: Command): ServerConfig {
  return loadConfig(configPathOf(command), processEnvironment());
}
