import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { Command, InvalidArgumentError } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { findLeftovers, type Leftover, removeLeftovers } from '../store/leftovers.ts';
import { action, configPathOf, print } from './run.ts';

const dayMs = 86_400_000;

/** `signet store replaced`: what restores have left beside the store. */
export function replacedCommand(): Command {
  return new Command('replaced')
    .description('list the files in the data folder left by restores: replaced stores and interrupted restores')
    .option('--remove-older-than <days>', 'remove those older than this, such as 30d', parseAge)
    .option('--json', 'print JSON')
    .action(
      action((options: { removeOlderThan?: number; json?: boolean }, command: Command) => {
        const { dataDir } = loadConfig(configPathOf(command), processEnvironment());
        const age = options.removeOlderThan;
        const removed = age === undefined ? [] : removeLeftovers(dataDir, systemClock.now() - age);
        const rows = [
          ...removed.map((each) => rowOf(each, true)),
          ...findLeftovers(dataDir).map((each) => rowOf(each, false)),
        ];
        if (rows.length > 0 || options.json === true) print(rows, options.json);
      }),
    );
}

function rowOf({ file, kind, bytes, since }: Leftover, removed: boolean): Record<string, unknown> {
  return { file, kind, bytes, since: formatTimestamp(since), removed };
}

/** A day at least: what a restore that runs now is about stays. */
function parseAge(text: string): number {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  if (days === undefined || Number(days) < 1) throw new InvalidArgumentError('must be days from 1d to 9999d');
  return Number(days) * dayMs;
}
