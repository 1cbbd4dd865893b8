import { type Clock, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import type { KeyPurpose } from '@signet/policy-engine/wire';
import { Command, Option } from 'commander';
import { loadConfig, type ServerConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { keyFilesIn } from '../keys/key-files.ts';
import { isStandby, keyStates, type SignatureLife } from '../keys/key-life.ts';
import { keyPurposes, rotateKey, type Successor, withdrawKey } from '../keys/rotate-keys.ts';
import { signingKeyStore } from '../keys/signing-key-store.ts';
import type { Store } from '../model/store.ts';
import { openStore } from '../store/open.ts';
import { athenzConfCommand } from './athenz-conf.ts';
import { publishedKeysCommand } from './published-keys.ts';
import { action, configPathOf, print, warn } from './run.ts';

const actor = 'signet keys';

interface RotateOptions {
  readonly purpose?: KeyPurpose;
  readonly now?: boolean;
  readonly json?: boolean;
}

/** `signet keys list | published | athenz-conf | rotate | compromised`. */
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
  keys.addCommand(athenzConfCommand());
  keys
    .command('rotate')
    .description(
      'have the standby key sign once every verifier is sure to know it (keys.prepublishSeconds), and make another',
    )
    .addOption(new Option('--purpose <purpose>', 'only this kind of key').choices(keyPurposes))
    .option(
      '--now',
      'sign with it at once; verifiers know it when it has been published long enough, else there is a warning',
    )
    .option('--json', 'print JSON')
    .action(
      action(async (options: RotateOptions, command: Command) => {
        await withStore(command, async (store, config) => print(await rotate(store, config, options), options.json));
      }),
    );
  keys
    .command('compromised')
    .description('withdraw a key at once, for good; the standby key takes over if it was the active one')
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
  const store = await openStore(config.store, { clock: systemClock, readonly });
  try {
    await work(store, config);
  } finally {
    await store.close();
  }
}

async function listKeys(store: Store, config: ServerConfig, clock: Clock) {
  const records = await store.signingKeys();
  const states = keyStates(records, clock.now(), lifeOf(config));
  return records.map((record) => ({
    kid: record.kid,
    purpose: record.purpose,
    state: record.compromisedAt === undefined ? states.get(record.kid) : 'compromised',
    created: formatTimestamp(record.createdAt),
    signsFrom: isStandby(record) ? null : formatTimestamp(record.activateAt),
    compromised: record.compromisedAt === undefined ? null : formatTimestamp(record.compromisedAt),
  }));
}

function lifeOf({ tokens, bundles }: ServerConfig): SignatureLife {
  return { token: tokens.longestExpirySeconds * 1000, bundle: bundles.lifetimeSeconds * 1000 };
}

async function rotate(store: Store, config: ServerConfig, { purpose, now: isNow = false }: RotateOptions) {
  const deps = { store: signingKeyStore(store, actor), files: keyFilesIn(config.keysDir), clock: systemClock };
  const delayMs = config.keys.prepublishSeconds * 1000;
  const signing: { kid: string; purpose: KeyPurpose; signsFrom: string }[] = [];
  for (const each of purpose === undefined ? keyPurposes : [purpose]) {
    const key = await rotateKey(deps, each, { delayMs, isNow });
    if (isNow) warnOfUnknown(key, config);
    signing.push({ kid: key.kid, purpose: each, signsFrom: formatTimestamp(key.activateAt) });
  }
  return signing;
}

async function withdraw(store: Store, config: ServerConfig, kid: string): Promise<void> {
  const deps = {
    store: signingKeyStore(store, actor, 'key compromised'),
    files: keyFilesIn(config.keysDir),
    clock: systemClock,
    life: lifeOf(config),
    prepublishMs: config.keys.prepublishSeconds * 1000,
  };
  const successor = await withdrawKey(deps, kid);
  if (successor !== undefined) warnOfUnknown(successor, config);
}

/** Verifiers keep the keys that they have: one that was published a moment ago is not among them. */
function warnOfUnknown({ kid, purpose, createdAt }: Successor, { keys }: ServerConfig): void {
  const knownFrom = createdAt + keys.prepublishSeconds * 1000;
  const missing = Math.ceil((knownFrom - systemClock.now()) / 1000);
  if (missing <= 0) return;
  warn(
    `the ${purpose} key \`${kid}\` signs now, and is published only since ${formatTimestamp(createdAt)}: until ` +
      `${formatTimestamp(knownFrom)} (${missing} s) verifiers that do not know it yet may refuse what it signs; wait that long before ` +
      'the next `--now`',
  );
}
