import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { Command, InvalidArgumentError } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { sqliteFileOf } from '../config/store-place.ts';
import { kindOfBackup } from '../full-backup/kind-of-backup.ts';
import { parseReason } from '../management/require-reason.ts';
import { acceptLoss, check as checkStore, readSealKey, type StoreCheck, sealKeyName } from '../store/maintenance.ts';
import { openStore } from '../store/open.ts';
import { localActor } from './local-user.ts';
import { action, CommandFailedError, configPathOf, print, UsageError } from './run.ts';
import { copyCommand } from './store-copy.ts';
import { replacedCommand } from './store-replaced.ts';
import { migrateCommand, statusCommand } from './store-status.ts';

/** `signet store check | status | migrate | copy | replaced | accept-loss | accept-clock | new-epoch`. */
export function storeCommand(): Command {
  const store = new Command('store').description('check, migrate, copy and repair the store of the server');
  store
    .command('check')
    .description('check every page and row; exit status 1 if a fault is found')
    .argument('[file]', 'a backup file (default: the configured store)')
    .option('--json', 'print JSON')
    .action(
      action(async (file: string | undefined, options: { json?: boolean }, command: Command) => {
        const { faults, notes, ...found } = await check(file, configPathOf(command));
        if (options.json === true) print({ ...found, faults, notes }, true);
        else {
          print(found, false);
          for (const fault of faults) print(`fault: ${fault}`, false);
          for (const note of notes) print(`note: ${note}`, false);
        }
        if (faults.length > 0) throw new CommandFailedError();
      }),
    );
  store.addCommand(statusCommand());
  store.addCommand(migrateCommand());
  store.addCommand(copyCommand());
  store.addCommand(replacedCommand());
  store
    .command('accept-loss')
    .description('accept a store that lost acknowledged changes and start a new epoch; stop the servers first')
    .requiredOption('--reason <text>', 'reason, recorded in the audit log')
    .option('--json', 'print JSON')
    .action(
      action(async (options: { reason: string; json?: boolean }, command: Command) => {
        const { store: place } = loadConfig(configPathOf(command), processEnvironment());
        const file = sqliteFileOf(place, 'for a database, use `signet store new-epoch` to accept a loss');
        const context = { actor: localActor(), reason: parseReason(options.reason) };
        print(await acceptLoss(file, { clock: systemClock, context }), options.json);
      }),
    );
  store
    .command('accept-clock')
    .description('confirm that the clock is right although the store has later records')
    .requiredOption('--reason <text>', 'reason, recorded in the audit log')
    .option('--json', 'print JSON')
    .action(
      action(async (options: { reason: string; json?: boolean }, command: Command) => {
        const { store: place } = loadConfig(configPathOf(command), processEnvironment());
        sqliteFileOf(place, 'servers with a database use the clock of the database');
        const context = { actor: localActor(), reason: parseReason(options.reason) };
        const store = await openStore(place, { acceptsClock: true });
        try {
          await store.change(context, (change) => change.acceptClock());
        } finally {
          await store.close();
        }
        print({ clock: formatTimestamp(systemClock.now()) }, options.json);
      }),
    );
  store.addCommand(newEpochCommand());
  return store;
}

/** Command for a store that goes on from an earlier state, as after a failover that lost changes. Servers go on meanwhile. */
function newEpochCommand(): Command {
  return new Command('new-epoch')
    .description('start a new epoch after changes were lost, so that hosts accept bundles again; servers may run')
    .requiredOption('--reason <text>', 'reason, recorded in the audit log')
    .option('--above <epoch>', 'start an epoch above this one, which servers or hosts have seen', parseEpoch)
    .option('--json', 'print JSON')
    .action(
      action(async (options: { reason: string; above?: number; json?: boolean }, command: Command) => {
        const config = loadConfig(configPathOf(command), processEnvironment());
        const context = { actor: localActor(), reason: parseReason(options.reason) };
        const store = await openStore(config.store);
        try {
          const epoch = await store.change(context, (change) => change.newEpoch(options.above));
          print({ epoch }, options.json);
        } finally {
          await store.close();
        }
      }),
    );
}

/** Hosts refuse epochs that are further ahead of those that they know than this one of the first. */
function parseEpoch(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text) && Number(text) < 2 ** 32) return Number(text);
  throw new InvalidArgumentError('must be an epoch, an integer, 1 or more');
}

/** A backup may be looked at where no server is configured: its seal is then one of another key. */
async function check(file: string | undefined, configFile: string): Promise<StoreCheck> {
  if (file !== undefined && kindOfBackup(file) === 'complete') {
    throw new UsageError(
      `\`${file}\` is a complete backup: unpack it with \`signet restore --into\`, and check the store in the new folder`,
    );
  }
  if (file !== undefined && !existsSync(configFile)) return checkStore({ kind: 'sqlite', file });
  const { store, keysDir } = loadConfig(configFile, processEnvironment());
  const place = file === undefined ? store : ({ kind: 'sqlite', file } as const);
  return checkStore(place, readSealKey(join(keysDir, sealKeyName)));
}
