import { type Clock, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import type { KeyPurpose } from '@signet/policy-engine/wire';
import { Command, Option } from 'commander';
import { rotationScheduleOf } from '../compose/compose-rotation.ts';
import type { ServerConfig } from '../config/config.ts';
import { privateKeysOf } from '../config/private-keys.ts';
import { isStandby, keyStates, latestKey, rotationDueAt } from '../keys/key-life.ts';
import { keyPurposes, rotateKey, type Successor, withdrawKey } from '../keys/rotate-keys.ts';
import { signingKeyStore } from '../keys/signing-key-store.ts';
import type { SigningKeyRecord } from '../model/records.ts';
import type { Store } from '../model/store.ts';
import { athenzConfCommand } from './athenz-conf.ts';
import { lifeOf, withStore } from './key-store.ts';
import { localActor } from './local-user.ts';
import { publishedKeysCommand } from './published-keys.ts';
import { action, print, warn } from './run.ts';
import { resealCommand, sealCommand } from './seal-keys.ts';
import { UsageError } from './usage-error.ts';

interface RotateOptions {
  readonly purpose?: KeyPurpose;
  readonly now?: boolean;
  readonly sealingKeyLost?: boolean;
  readonly json?: boolean;
}

/** `signet keys list | published | athenz-conf | rotate | compromised | seal | reseal`. */
export function keysCommand(): Command {
  const keys = new Command('keys').description('list, rotate and withdraw the keys that sign tokens and bundles');
  keys
    .command('list')
    .description('list all signing keys with their states')
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
      'activate the standby key when it has been published for keys.prepublishSeconds, and create a new standby key',
    )
    .addOption(new Option('--purpose <purpose>', 'only keys for this purpose').choices(keyPurposes))
    .option(
      '--now',
      'activate the standby key immediately; warns if it was not published long enough for all verifiers to know it',
    )
    .option('--sealing-key-lost', 'with --now: skip keys that cannot be opened because their sealing key is lost')
    .option('--json', 'print JSON')
    .action(
      action(async (options: RotateOptions, command: Command) => {
        if (options.sealingKeyLost === true && options.now !== true)
          throw new UsageError('--sealing-key-lost requires --now');
        await withStore(command, async (store, config) => print(await rotate(store, config, options), options.json));
      }),
    );
  keys
    .command('compromised')
    .description('withdraw a compromised key immediately and permanently; if it was active, the standby key takes over')
    .argument('<kid>', 'key ID')
    .option('--json', 'print JSON')
    .action(
      action(async (kid: string, options: { json?: boolean }, command: Command) => {
        await withStore(command, async (store, config) => {
          await withdraw(store, config, kid);
          print(await listKeys(store, config, systemClock), options.json);
        });
      }),
    );
  keys.addCommand(sealCommand());
  keys.addCommand(resealCommand());
  return keys;
}

/** Every signing key with what it does now, and with a schedule when the next one is due. */
export async function listKeys(store: Store, config: ServerConfig, clock: Clock) {
  const records = await store.signingKeys();
  const sealed = await store.sealedKeys();
  const states = keyStates(records, clock.now(), lifeOf(config));
  const schedule = rotationScheduleOf(config);
  const replacedAt = (record: SigningKeyRecord) =>
    schedule === undefined || latestKey(records, record.purpose) !== record
      ? null
      : formatTimestamp(rotationDueAt(records, record.purpose, schedule));
  return records.map((record) => ({
    kid: record.kid,
    purpose: record.purpose,
    state: record.compromisedAt === undefined ? states.get(record.kid) : 'compromised',
    created: formatTimestamp(record.createdAt),
    signsFrom: isStandby(record) ? null : formatTimestamp(record.activateAt),
    compromised: record.compromisedAt === undefined ? null : formatTimestamp(record.compromisedAt),
    ...(schedule !== undefined && { rotationDue: replacedAt(record) }),
    ...(sealed.size > 0 && { sealingKey: sealed.get(record.kid)?.sealingKey ?? null }),
  }));
}

async function rotate(store: Store, config: ServerConfig, options: RotateOptions) {
  const { purpose, now: isNow = false, sealingKeyLost: givesUpLost } = options;
  const privateKeys = privateKeysOf(config, store, { givesUpLost });
  const deps = { store: signingKeyStore(store, localActor()), privateKeys, clock: systemClock };
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
    store: signingKeyStore(store, localActor(), 'key compromised'),
    privateKeys: privateKeysOf(config, store),
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
