import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../clock.ts';
import { PolicyEngineError } from '../errors.ts';
import { replaceFile } from '../files/index.ts';
import type { KeyRules, KeySource, KeysStore, OpenedKeys, RemoteKeys } from '../keys/index.ts';
import { closing, openWebKeys } from '../keys/open-keys.ts';
import { ReloadingKeys } from '../keys/reloading-keys.ts';
import type { JwkList } from '../wire/index.ts';
import { readProtectedFile } from './read-file.ts';
import { fetchWithTls, type KeysTls } from './tls-fetch.ts';

/** Keys behind an address, with what only Node can do for it. */
export interface NodeRemoteKeys extends RemoteKeys {
  /** Own certificate and trusted authorities, for mutual TLS. A function is called at each fetch, for certificates that are renewed. */
  tls?: KeysTls | (() => KeysTls);
  /** A file that keeps the keys, so that a restart works while the issuer is down. Its folder must exist. */
  cacheFile?: string;
}

/** Sources of keys: a source, a JWK set, an `https:` address, or a file by its path or `file:` address. */
export type KeysInput = KeySource | JwkList | NodeRemoteKeys | string | URL;

const maxKeysBytes = 1_048_576;

/** Files are cheap to look at, but not for every forged token. In milliseconds. */
const filePauseMs = 1000;
const fileRefreshIntervalMs = 15_000;
const fileTimeoutMs = 5000;

/**
 * Opens a source of keys. A file is read again every 15 seconds, and when an unknown key name turns up.
 * Throws `PolicyEngineError`: `invalid-options`, `keys-malformed` or `keys-unavailable`.
 */
export async function openKeys(keys: KeysInput, clock: Clock, rules: KeyRules = {}): Promise<OpenedKeys> {
  if (typeof keys === 'string' || keys instanceof URL) {
    const path = filePath(keys);
    return path === undefined ? openWebKeys(keys, clock, rules) : closing(await openKeysFile(path, clock, rules));
  }
  return openWebKeys('url' in keys ? withNode(keys) : keys, clock, rules);
}

/** The path that a text or an address means; `undefined` for addresses of other kinds. */
function filePath(keys: string | URL): string | undefined {
  if (typeof keys === 'string' && !/^[a-z][a-z0-9+.-]+:/i.test(keys)) return resolve(keys);
  const url = URL.parse(String(keys));
  if (url?.protocol !== 'file:') return undefined;
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw new PolicyEngineError('invalid-options', '`keys` is not an address of a local file', { cause });
  }
}

function openKeysFile(path: string, clock: Clock, rules: KeyRules): Promise<ReloadingKeys> {
  return ReloadingKeys.open({
    load: () => readKeysFile(path),
    place: `the file \`${path}\``,
    clock,
    pauseMs: filePauseMs,
    refreshIntervalMs: fileRefreshIntervalMs,
    timeoutMs: fileTimeoutMs,
    rules,
  });
}

async function readKeysFile(path: string): Promise<string> {
  const file = await readProtectedFile(path, maxKeysBytes, undefined);
  if (file.kind === 'read') return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file.bytes);
  throw new PolicyEngineError('keys-unavailable', file.kind === 'unreadable' ? file.problem : 'it does not exist');
}

function withNode(keys: NodeRemoteKeys): RemoteKeys {
  const { tls, cacheFile, ...remote } = keys;
  if (tls !== undefined && remote.fetch !== undefined) throw bothGiven('tls', 'fetch');
  if (cacheFile !== undefined && remote.store !== undefined) throw bothGiven('cacheFile', 'store');
  return {
    ...remote,
    ...(tls !== undefined && { fetch: fetchWithTls(tls) }),
    ...(cacheFile !== undefined && { store: fileStore(resolve(cacheFile)) }),
  };
}

function bothGiven(one: string, other: string): PolicyEngineError {
  return new PolicyEngineError('invalid-options', `\`keys\` has both \`${one}\` and \`${other}\``);
}

function fileStore(path: string): KeysStore {
  return { read: () => readKeysFile(path), write: (text) => replaceFile(path, text, { mode: 0o644 }) };
}
