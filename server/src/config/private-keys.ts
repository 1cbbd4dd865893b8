import { keysInFiles, keysInStore, type PrivateKeys } from '../keys/private-keys.ts';
import type { SigningKeyStore } from '../keys/rotate-keys.ts';
import { createSealing, type Sealing } from '../keys/sealing.ts';
import { readSealingKey } from '../keys/sealing-key.ts';
import type { ServerConfig } from './config.ts';
import { ConfigError } from './config-error.ts';

/** The sealing keys that are configured, if there are any. Throws `ConfigError`. */
export function sealingOf({ keys, file }: Pick<ServerConfig, 'keys' | 'file'>): Sealing | undefined {
  const { sealingKeyFile, previousSealingKeyFiles } = keys;
  if (sealingKeyFile === undefined) return undefined;
  const read = (option: string, path: string): Buffer => {
    try {
      return readSealingKey(path);
    } catch (error) {
      throw new ConfigError(file, [`${option}: ${error instanceof Error ? error.message : String(error)}`]);
    }
  };
  const previous = previousSealingKeyFiles.map((path, index) => read(`keys.previousSealingKeyFiles.${index}`, path));
  const sealingKeys = [read('keys.sealingKeyFile', sealingKeyFile), ...previous] as const;
  try {
    return createSealing(sealingKeys);
  } finally {
    for (const sealingKey of sealingKeys) sealingKey.fill(0);
  }
}

/** The private halves where the configuration says that they are. Throws `ConfigError`. */
export function privateKeysOf(
  config: Pick<ServerConfig, 'keys' | 'keysDir' | 'file'>,
  store: Pick<SigningKeyStore, 'signingKeys' | 'sealedKeys'>,
  { givesUpLost }: { readonly givesUpLost?: boolean | undefined } = {},
): PrivateKeys {
  const sealing = sealingOf(config);
  if (config.keys.storage === 'files' || sealing === undefined) return keysInFiles(config.keysDir);
  return keysInStore({ store, sealing, givesUpLost });
}
