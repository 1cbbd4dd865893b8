import { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { migrateStore, readStoreStatus, type StoreStatus } from '../store/maintenance.ts';
import { action, configPathOf, print } from './run.ts';

/** `signet store status`. */
export function statusCommand(): Command {
  return new Command('status')
    .description('show location, schema and change counter of the store, and the servers that use its database')
    .option('--json', 'print JSON')
    .action(
      action(async (options: { json?: boolean }, command: Command) => {
        const { store } = loadConfig(configPathOf(command), processEnvironment());
        const status = await readStoreStatus(store);
        if (options.json === true) print(status, true);
        else printStatus(status);
      }),
    );
}

function printStatus({ rows, estimated, postgres, ...state }: StoreStatus): void {
  const { standbys = [], servers = [], ...database } = postgres ?? {};
  print({ ...state, ...database }, false);
  for (const standby of standbys) print(`standby: ${words(standby)}`, false);
  for (const server of servers) print(`server: ${words(server)}`, false);
  const counted = Object.entries(rows).map(
    ([table, count]) => `${table} ${estimated.includes(table) ? '~' : ''}${count}`,
  );
  print(`rows: ${counted.join(', ')}`, false);
}

function words(value: object): string {
  return Object.entries(value)
    .map(([key, each]) => `${key} ${each ?? '-'}`)
    .join(', ');
}

/** `signet store migrate`. */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description('migrate the schema of the store, as servers do if `store.postgres.migrate` is `auto`')
    .option('--json', 'print JSON')
    .action(
      action(async (options: { json?: boolean }, command: Command) => {
        const { store } = loadConfig(configPathOf(command), processEnvironment());
        const { before, steps, made } = await migrateStore(store);
        if (options.json === true) print({ before, steps, made }, true);
        else print(made.length === 0 ? `up to date: ${steps} steps` : `made ${made.join(', ')}`, false);
      }),
    );
}
