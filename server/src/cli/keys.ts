import { type Clock, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import type { KeyPurpose } from '@signet/policy-engine/wire';
import { Command, Option } from 'commander';
import { loadConfig, type ServerConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { NotFoundError } from '../errors.ts';
import { keyFilesIn } from '../keys/key-files.ts';
import { keyStates } from '../keys/key-life.ts';
import { addSigningKey, keyPurposes } from '../keys/rotate-keys.ts';
import { signingKeyStore } from '../keys/signing-key-store.ts';
import { openSqliteStore } from '../store/sqlite/open.ts';
import type { Store } from '../store/store.ts';
import { publishedKeysCommand } from './published-keys.ts';
import { action, configPathOf, print } from './run.ts';

const actor = 'signet keys';

interface RotateOptions {
  readonly purpose?: KeyPurpose;
  readonly now?: boolean;
  readonly json?: boolean;
}

/** `signet keys list | published | rotate | compromised`. */
export function keysCommand(): Command {
  const keys = new Command('keys').description('the keys that sign tokens and bundles');
  keys
    .command('list')
    .description('all signing keys and what each does now')
    .option('--json', 'print JSON')
    .action(
      action(async (options: { json?: boolean }, command: Command) => {
        await withStore(
          command,
          async (store, config) => print(await listKeys(store, config, systemClock), options.json),
          { readonly: true },
        );
      }),
    );
  keys.addCommand(publishedKeysCommand());
  keys
    .command('rotate')
    .description('add a key that signs once every verifier knows it (keys.prepublishSeconds)')
    .addOption(new Option('--purpose <purpose>', 'only this kind of key').choices(keyPurposes))
    .option('--now', 'sign with it at once; verifiers that have not fetched it yet refuse what it signs')
    .option('--json', 'print JSON')
    .action(
      action(async (options: RotateOptions, command: Command) => {
        await withStore(command, async (store, config) => print(await rotate(store, config, options), options.json));
      }),
    );
  keys
    .command('compromised')
    .description('withdraw a key at once, for good; another one takes over if it was the active one')
    .argument('<kid>', 'the id of the key')
    .option('--json', 'print JSON')
    .action(
      action(async (kid: string, options: { json?: boolean }, command: Command) => {
        await withStore(command, async (store, config) => {
          await withdraw(store, config, kid);
          print(await listKeys(store, config, systemClock), options.json);
        });
      }),
    );
  return keys;
}

async function withStore(
  command: Command,
  work: (store: Store, config: ServerConfig) => Promise<void>,
  { readonly = false }: { readonly readonly?: boolean } = {},
): Promise<void> {
  const config = loadConfig(configPathOf(command), processEnvironment());
  const store = await openSqliteStore(config.storeFile, { clock: systemClock, readonly });
  try {
    await work(store, config);
  } finally {
    await store.close();
  }
}

async function listKeys(store: Store, config: ServerConfig, clock: Clock) {
  const records = await store.signingKeys();
  const life = { token: config.tokens.longestExpirySeconds * 1000, bundle: config.bundles.lifetimeSeconds * 1000 };
  const states = keyStates(records, clock.now(), life);
  return records.map((record) => ({
    kid: record.kid,
    purpose: record.purpose,
    state: record.compromisedAt === undefined ? states.get(record.kid) : 'compromised',
    created: formatTimestamp(record.createdAt),
    signsFrom: formatTimestamp(record.activateAt),
    compromised: record.compromisedAt === undefined ? null : formatTimestamp(record.compromisedAt),
  }));
}

async function rotate(store: Store, config: ServerConfig, { purpose, now }: RotateOptions) {
  const deps = { store: signingKeyStore(store, actor), files: keyFilesIn(config.keysDir), clock: systemClock };
  const made: { kid: string; purpose: KeyPurpose; signsFrom: string }[] = [];
  for (const each of purpose === undefined ? keyPurposes : [purpose]) {
    const record = await addSigningKey(deps, each, now === true ? 0 : config.keys.prepublishSeconds * 1000);
    made.push({ kid: record.kid, purpose: each, signsFrom: formatTimestamp(record.activateAt) });
  }
  return made;
}

/** Marks the key, and makes a new one when no other of its purpose can sign. */
async function withdraw(store: Store, config: ServerConfig, kid: string): Promise<void> {
  const now = systemClock.now();
  const records = await store.signingKeys();
  const lost = records.find((record) => record.kid === kid);
  if (lost === undefined) throw new NotFoundError(`there is no signing key \`${kid}\``);
  const others = records.filter(
    (record) =>
      record.purpose === lost.purpose &&
      record.kid !== kid &&
      record.compromisedAt === undefined &&
      record.activateAt <= now,
  );
  // The successor comes first, so that at no moment nothing can sign.
  if (others.length === 0) await rotate(store, config, { purpose: lost.purpose, now: true });
  await store.change({ actor, reason: 'key compromised' }, (transaction) => transaction.markKeyCompromised(kid, now));
}
