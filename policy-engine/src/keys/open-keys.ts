import type { Clock } from '../clock.ts';
import type { JwkList } from '../wire/index.ts';
import { type KeyRules, type KeySource, staticKeys } from './key-source.ts';
import { openRemoteKeys, type RemoteKeys } from './remote-keys.ts';

/** Sources of keys without a file system: a source, a JWK set, or an `https:` address. */
export type WebKeys = KeySource | JwkList | RemoteKeys | string | URL;

/** Keys that are in use. `close` stops what was started for them; a source that was passed ready-made is the caller's. */
export interface OpenedKeys {
  readonly source: KeySource;
  close(): void;
}

/** Opens a source of keys. Throws `PolicyEngineError`: `invalid-options`, `keys-malformed` or `keys-unavailable`. */
export async function openWebKeys(keys: WebKeys, clock: Clock, rules: KeyRules = {}): Promise<OpenedKeys> {
  if (typeof keys === 'string' || keys instanceof URL)
    return closing(await openRemoteKeys({ url: keys }, clock, rules));
  if ('url' in keys) return closing(await openRemoteKeys(keys, clock, rules));
  return { source: keySource(keys, rules), close: () => undefined };
}

/** The source that was passed, or one of the JWK set that was. Throws `keys-malformed`. */
export function keySource(keys: KeySource | JwkList, rules: KeyRules = {}): KeySource {
  return 'find' in keys ? keys : staticKeys(keys, rules);
}

/** Keys that close themselves. */
export function closing(source: KeySource & { close(): void }): OpenedKeys {
  return { source, close: () => source.close() };
}
