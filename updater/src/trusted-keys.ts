import { type SignetClient, SignetClientError } from '@signet/client';
import { type KeySource, PolicyEngineError, sharesKey, staticKeys } from '@signet/policy-engine/bundle';
import type { Clock } from '@signet/policy-engine/clock';
import { decodeJwkList } from '@signet/policy-engine/token';
import type { JwkList, KeyPurpose } from '@signet/policy-engine/wire';
import { fileNames, type PolicyDirectory } from './files/policy-directory.ts';
import { type KeysFile, readKeysFile, writeKeysFile } from './keys-file.ts';
import { UpdaterError } from './updater-errors.ts';

interface TrustedKeysDeps {
  readonly client: Pick<SignetClient, 'keys' | 'metadata'>;
  readonly directory: PolicyDirectory;
  readonly clock: Clock;
  /** The issuer of tokens by configuration; else it is taken from the metadata document. */
  readonly issuer: string | undefined;
  /** An Athenz server need not say which issuer its tokens name. */
  readonly isAthenz?: boolean;
}

/**
 * Maximum age of cached keys, in milliseconds: less than the time between two runs, so that a key that is withdrawn is gone from this host
 * within a minute, however long the server lets caches keep the answer.
 */
const longestMaxAge = 50_000;

/** Age at which the issuer is fetched again. Milliseconds. */
const issuerMaxAge = 3_600_000;

/** An unknown key leads to one request in this time. */
const unknownKeyInterval = 30_000;

const noKeys: KeySource = staticKeys({ keys: [] });

/**
 * The server's public keys, fetched over the pinned CA, kept in `keys.json`. As a `KeySource` it asks the server once more for
 * a key that it does not know, at most every 30 seconds.
 */
export class TrustedKeys implements KeySource {
  readonly #deps: TrustedKeysDeps;
  #file: string | undefined;
  #issuer: string | undefined;
  #known: KeySource = noKeys;
  #keys: KeysFile['keys'] = [];
  #leftOut: readonly string[] = [];
  #issuerAskedAt: number | undefined;
  #fetchedAt: number | undefined;
  #attemptedAt: number | undefined;
  #maxAge = 0;
  #problem: SignetClientError | PolicyEngineError | UpdaterError | undefined;

  private constructor(deps: TrustedKeysDeps) {
    this.#deps = deps;
    this.#issuer = deps.issuer;
  }

  /** Starts from `keys.json`, so that bundles can be verified while the server is away. */
  static async load(deps: TrustedKeysDeps): Promise<TrustedKeys> {
    const keys = new TrustedKeys(deps);
    const file = await readKeysFile(deps.directory);
    if (file !== undefined) keys.#takeFile(file);
    return keys;
  }

  /** Loads the keys of the file; unusable ones are treated as absent and fetched again. */
  #takeFile(file: KeysFile): void {
    try {
      this.#use(file);
      this.#file = JSON.stringify(file);
    } catch (error) {
      if (!(error instanceof PolicyEngineError)) throw error;
    }
  }

  #use(content: KeysFile, alsoLeftOut: readonly string[] = []): void {
    const { keys, leftOut: unusable } = decodeJwkList({ keys: content.keys });
    const leftOut = [...new Set([...alsoLeftOut, ...unusable])];
    if (keys.length === 0)
      throw new PolicyEngineError('keys-malformed', `there is no usable key: ${leftOut.join(', ')}`);
    this.#known = staticKeys({ keys });
    this.#keys = keys;
    this.#leftOut = leftOut;
    this.#issuer = this.#deps.issuer ?? content.issuer;
  }

  /** Known keys only: never asks the server. */
  get known(): KeySource {
    return this.#known;
  }

  /** Facts for the status: names of the keys, why others are left out, when they were fetched (ms), why the last attempt failed. */
  get facts(): {
    readonly kids: readonly string[];
    readonly leftOut: readonly string[];
    readonly fetchedAt: number | undefined;
    readonly error: string | undefined;
  } {
    const kids = this.#keys.map((key) => key.kid);
    return { kids, leftOut: this.#leftOut, fetchedAt: this.#fetchedAt, error: this.#problem?.message };
  }

  /** Error of the last attempt to fetch. */
  get problem(): SignetClientError | PolicyEngineError | UpdaterError | undefined {
    return this.#problem;
  }

  /** Writes the keys at hand into a directory that was put in the place of the one before. Throws `UpdaterError`. */
  async restore(): Promise<void> {
    const text = this.#file;
    if (text === undefined) return;
    // Should it fail, the next answer of the server is written.
    this.#file = undefined;
    await writeKeysFile(this.#deps.directory, JSON.parse(text));
    this.#file = text;
  }

  /** Fetches the keys when the ones at hand are older than the server lets them be kept. A failure keeps the old ones. */
  async refresh(signal?: AbortSignal): Promise<void> {
    const now = this.#deps.clock.now();
    const at = this.#fetchedAt;
    const fresh = at !== undefined && this.#problem === undefined && now >= at && now - at < this.#maxAge;
    if (!fresh) await this.#fetch(signal);
  }

  async find(kid: string, purpose: KeyPurpose): ReturnType<KeySource['find']> {
    const key = await this.#known.find(kid, purpose);
    if (key !== undefined) return key;
    const now = this.#deps.clock.now();
    const last = this.#attemptedAt;
    if (last !== undefined && now >= last && now - last < unknownKeyInterval) return undefined;
    await this.#fetch();
    return this.#known.find(kid, purpose);
  }

  async #fetch(signal?: AbortSignal): Promise<void> {
    const { client, clock } = this.#deps;
    const call = signal === undefined ? {} : { signal };
    this.#attemptedAt = clock.now();
    try {
      const { keys, leftOut, maxAgeSeconds } = await client.keys(call);
      // an answer without keys would make every host refuse everything
      if (keys.length === 0) throw new PolicyEngineError('keys-unavailable', 'the server publishes no usable key');
      await this.#requireShared({ keys });
      const issuer = this.#deps.issuer ?? (await this.#askIssuer(call));
      const content = { ...(issuer !== undefined && { issuer }), keys };
      this.#use(content, leftOut);
      await this.#store(content);
      this.#fetchedAt = this.#attemptedAt;
      this.#maxAge = Math.min((maxAgeSeconds ?? Number.POSITIVE_INFINITY) * 1000, longestMaxAge);
      this.#problem = undefined;
    } catch (error) {
      if (
        error instanceof SignetClientError ||
        error instanceof PolicyEngineError ||
        (error instanceof UpdaterError && error.code === 'storage')
      ) {
        this.#problem = error;
      } else throw error;
    }
  }

  /** Requires a shared key: keys of another issuer do not replace the known ones, unless the operator removed their file. */
  async #requireShared(next: JwkList): Promise<void> {
    const { directory } = this.#deps;
    if (this.#keys.length === 0 || sharesKey({ keys: this.#keys }, next)) return;
    if (!(await directory.has(fileNames.keys))) return;
    throw new PolicyEngineError(
      'keys-replaced',
      'none of the published keys was known before: they are not accepted; if the keys of the server were replaced ' +
        `on purpose, remove \`${fileNames.keys}\` in \`${directory.path}\``,
    );
  }

  /** A server that does not say its name now has not changed it. */
  async #askIssuer(call: { readonly signal?: AbortSignal }): Promise<string | undefined> {
    const now = this.#deps.clock.now();
    const at = this.#issuerAskedAt;
    if (this.#issuer !== undefined && at !== undefined && now >= at && now - at < issuerMaxAge) return this.#issuer;
    try {
      const { issuer } = await this.#deps.client.metadata(call);
      this.#issuerAskedAt = now;
      return issuer;
    } catch (error) {
      if (!(error instanceof SignetClientError)) throw error;
      if (this.#issuer !== undefined || (this.#deps.isAthenz === true && error.code === 'refused')) return this.#issuer;
      throw error;
    }
  }

  async #store(content: KeysFile): Promise<void> {
    const text = JSON.stringify(content);
    if (text === this.#file) return;
    await writeKeysFile(this.#deps.directory, content);
    this.#file = text;
  }
}
