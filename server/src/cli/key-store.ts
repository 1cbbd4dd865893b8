import { systemClock } from '@signet/policy-engine/clock';
import type { Command } from 'commander';
import { loadConfig, type ServerConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import type { SignatureLife } from '../keys/key-life.ts';
import type { Store } from '../model/store.ts';
import { openStore } from '../store/open.ts';
import { configPathOf } from './run.ts';

/** Opens the store of the configuration, for the commands about signing keys, while `work` runs. */
export async function withStore(
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

export function lifeOf({ tokens, bundles }: ServerConfig): SignatureLife {
  return { token: tokens.longestExpirySeconds * 1000, bundle: bundles.lifetimeSeconds * 1000 };
}
