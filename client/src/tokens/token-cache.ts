import { BoundedMap } from '../bounded-map.ts';
import { SignetClientError } from '../client-errors.ts';
import type { CachedToken } from './cached-token.ts';
import { isReusable } from './is-reusable.ts';
import { TokenFile } from './token-file.ts';

/** Kept tokens: in memory, and in a file when one is given. A file that cannot be used costs no call. */
export class TokenCache {
  readonly #memory: BoundedMap<CachedToken>;
  readonly #file: TokenFile | undefined;
  #loading: Promise<void> | undefined;
  #problem: SignetClientError | undefined;

  constructor(size: number, file: string | undefined) {
    this.#memory = new BoundedMap(size);
    this.#file = file === undefined ? undefined : new TokenFile(file);
  }

  /** Error of the file, when it cannot be used. */
  get problem(): SignetClientError | undefined {
    return this.#problem;
  }

  /** The kept token of a key while it may be reused. */
  async get(key: string, now: number): Promise<CachedToken['token'] | undefined> {
    if (this.#file !== undefined) {
      this.#loading ??= this.#load(this.#file, now);
      await this.#loading;
    }
    const kept = this.#memory.get(key);
    if (kept === undefined) return undefined;
    if (isReusable(now, kept.token.expiresAt, kept.lifetimeMs)) return kept.token;
    this.#memory.delete(key);
    return undefined;
  }

  async set(key: string, token: CachedToken, now: number): Promise<void> {
    this.#memory.set(key, token);
    await this.#tolerate(this.#file?.add(key, token, now));
  }

  /** Forgets this token, if it is still the one that is kept. */
  delete(key: string, accessToken: string): void {
    if (this.#memory.get(key)?.token.accessToken === accessToken) this.#memory.delete(key);
  }

  clear(): void {
    this.#memory.clear();
  }

  async close(): Promise<void> {
    await this.#file?.settled();
  }

  async #load(file: TokenFile, now: number): Promise<void> {
    const tokens = await this.#tolerate(file.read(now));
    for (const [key, token] of tokens ?? []) this.#memory.set(key, token);
  }

  async #tolerate<Value>(work: Promise<Value> | undefined): Promise<Value | undefined> {
    try {
      const value = await work;
      this.#problem = undefined;
      return value;
    } catch (error) {
      if (!(error instanceof SignetClientError)) throw error;
      this.#problem = error;
      return undefined;
    }
  }
}
