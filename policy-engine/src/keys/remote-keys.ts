import type { Clock } from '../clock.ts';
import { PolicyEngineError } from '../errors.ts';
import { parseStrictJson } from '../json/strict-json.ts';
import type { JwkList } from '../wire/index.ts';
import { decodeJwkList, type KeyRules } from './key-source.ts';
import { ReloadingKeys } from './reloading-keys.ts';

/** The part of an answer of `fetch` that is read. */
export interface KeysResponse {
  readonly status: number;
  readonly body: {
    getReader(): {
      read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
      cancel(reason?: unknown): Promise<void>;
    };
  } | null;
}

/** Signature of `fetch`, for one with own certificates, proxies or dispatchers. It must not follow redirects. */
export type KeysFetch = (
  url: string,
  init: { headers: Record<string, string>; redirect: 'error'; signal: AbortSignal },
) => Promise<KeysResponse>;

/** Store of the last good keys, so that a restart works while the issuer is down. */
export interface KeysStore {
  /** Text of the last `write`; `undefined` if there is none. An exception is treated as none. */
  read(): Promise<string | undefined>;
  /** Stores a text. An exception is reported in `error` of the key source. */
  write(text: string): Promise<void>;
}

/** Keys behind an address. */
export interface RemoteKeys {
  /** An `https:` address that answers a JWK set, e.g. `https://tokens.example/v1/oauth2/keys?rfc=true`. */
  url: string | URL;
  /** Default: the `fetch` of the platform. */
  fetch?: KeysFetch;
  /** Default: nowhere. */
  store?: KeysStore;
  /** Interval of unsolicited fetches of the keys, in milliseconds. Default 300,000. */
  refreshIntervalMs?: number;
  /** Timeout of a fetch, in milliseconds. Default 5,000. */
  timeoutMs?: number;
}

/** Unknown key names lead to one fetch in this time at most, in milliseconds. */
const pauseMs = 30_000;
const maxKeysBytes = 1_048_576;

/**
 * Fetches the keys, and fetches them again now and then. A name that is unknown leads to a fetch, at most once in 30 s and
 * one at a time. While the address does not answer, or answers keys that share none with the last ones, the last keys count. Throws `PolicyEngineError`: `invalid-options` for an
 * address that is not `https:`, `keys-unavailable` when neither the address nor the store has keys.
 */
export async function openRemoteKeys(remote: RemoteKeys, clock: Clock, rules: KeyRules = {}): Promise<ReloadingKeys> {
  const url = httpsAddress(remote.url);
  const { store } = remote;
  const ask = remote.fetch ?? fetch;
  return ReloadingKeys.open({
    load: async (signal) =>
      readBody(await ask(url, { headers: { accept: 'application/json' }, redirect: 'error', signal })),
    place: url,
    clock,
    pauseMs,
    refreshIntervalMs: remote.refreshIntervalMs ?? 300_000,
    timeoutMs: remote.timeoutMs ?? 5000,
    rules,
    mustShareKey: true,
    kept: store && (await readKept(store, url)),
    keep: store && (({ keys }) => keep(store, url, keys)),
  });
}

function httpsAddress(given: string | URL): string {
  const url = URL.parse(String(given));
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    throw new PolicyEngineError('invalid-options', '`keys` is not `https:` address without a user');
  }
  return url.href;
}

async function readBody({ status, body }: KeysResponse): Promise<string> {
  if (status !== 200 || body === null) throw malformed(`the answer has the status ${status}`);
  const reader = body.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let text = '';
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return text + decoder.decode();
    length += value.length;
    if (length > maxKeysBytes) {
      await reader.cancel();
      throw malformed(`the answer is larger than ${maxKeysBytes} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** The kept keys, when they are of this address: those of another issuer would be a gift to it. */
async function readKept(store: KeysStore, url: string): Promise<JwkList | undefined> {
  try {
    const text = await store.read();
    const value = text === undefined ? undefined : parseStrictJson(text);
    const isOurs = typeof value === 'object' && value !== null && 'url' in value && value.url === url;
    return isOurs ? decodeJwkList(value) : undefined;
  } catch {
    return undefined;
  }
}

async function keep(store: KeysStore, url: string, keys: JwkList['keys']): Promise<void> {
  try {
    await store.write(JSON.stringify({ url, keys }));
  } catch (cause) {
    throw new PolicyEngineError('keys-unavailable', 'they cannot be kept for the next start', { cause });
  }
}

function malformed(problem: string): PolicyEngineError {
  return new PolicyEngineError('keys-malformed', problem);
}
