import { systemClock } from '@signet/policy-engine/clock';
import { Command } from 'commander';
import type { ServerConfig } from '../config/config.ts';
import { sealingOf } from '../config/private-keys.ts';
import { keysInFiles } from '../keys/private-keys.ts';
import { resealKeys, sealKeyFiles } from '../keys/seal-keys.ts';
import { signingKeyStore } from '../keys/signing-key-store.ts';
import type { Store } from '../model/store.ts';
import { lifeOf, withStore } from './key-store.ts';
import { localActor } from './local-user.ts';
import { action, CommandFailedError, print, warn } from './run.ts';
import { UsageError } from './usage-error.ts';

interface Options {
  readonly json?: boolean;
}

/** `signet keys seal`: from the files of this machine into the store. */
export function sealCommand(): Command {
  return new Command('seal')
    .description(
      'move to keys.storage `store`: copy the signing keys from files to the store, encrypted; the files stay',
    )
    .option('--json', 'print JSON')
    .action(
      action((options: Options, command: Command) =>
        withStore(command, async (store, config) => {
          const files = keysInFiles(config.keysDir);
          report(await sealKeyFiles({ ...depsOf(store, config, 'keys sealed'), files }), options.json);
        }),
      ),
    );
}

/** `signet keys reseal`: with the present sealing key. */
export function resealCommand(): Command {
  return new Command('reseal')
    .description(
      'encrypt the signing keys in the store again with keys.sealingKeyFile, so that earlier sealing keys can be removed',
    )
    .option('--json', 'print JSON')
    .action(
      action((options: Options, command: Command) =>
        withStore(command, async (store, config) => {
          report(await resealKeys(depsOf(store, config, 'keys resealed')), options.json);
        }),
      ),
    );
}

function depsOf(store: Store, config: ServerConfig, reason: string) {
  const sealing = sealingOf(config);
  if (sealing === undefined) throw new UsageError('keys.sealingKeyFile is not configured');
  const keys = signingKeyStore(store, localActor(), reason);
  return { store: keys, sealing, clock: systemClock, life: lifeOf(config) };
}

/** Exit status 1 when a server with these sealing keys would lack a key that signs now or later. */
function report(outcomes: Awaited<ReturnType<typeof resealKeys>>, json: boolean | undefined): void {
  print(outcomes, json);
  let isShort = false;
  for (const { kid, purpose, state, outcome } of outcomes) {
    if (outcome !== 'missing' && outcome !== 'unreadable') continue;
    isShort ||= state !== 'retired';
    const why =
      outcome === 'missing' ? 'is not sealed in the store' : 'cannot be opened with the configured sealing keys';
    warn(`the ${state} ${purpose} key \`${kid}\` ${why}`);
  }
  if (isShort) throw new CommandFailedError();
}
