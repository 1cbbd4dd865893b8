import type { VerifiedAccessToken } from './claims.ts';

interface Entry {
  readonly token: VerifiedAccessToken;
  readonly revision: number | undefined;
  /** Milliseconds since the epoch; later the token is verified again. */
  readonly until: number;
}

/** How long a verification holds when the key source cannot tell that a key was withdrawn, in milliseconds. */
const blindLife = 60_000;

/**
 * Verified tokens by their full text, so that nothing can collide. Bounded in entries and in characters; when it is full,
 * the oldest entry goes.
 */
export class TokenCache {
  readonly #entries = new Map<string, Entry>();
  readonly #maxEntries: number;
  readonly #maxCharacters: number;
  #characters = 0;

  constructor(maxEntries: number, maxCharacters = 16_777_216) {
    this.#maxEntries = maxEntries;
    this.#maxCharacters = maxCharacters;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The token, when it was verified under this revision of the keys. Its expiry is for the caller to look at. */
  get(text: string, now: number, revision: number | undefined): VerifiedAccessToken | undefined {
    const entry = this.#entries.get(text);
    if (entry === undefined) return undefined;
    if (entry.revision === revision && now < entry.until) return entry.token;
    this.delete(text);
    return undefined;
  }

  set(text: string, token: VerifiedAccessToken, now: number, revision: number | undefined): void {
    if (this.#maxEntries <= 0) return;
    this.delete(text);
    const expires = token.expires * 1000;
    const until = revision === undefined ? Math.min(expires, now + blindLife) : expires;
    this.#entries.set(text, { token, revision, until });
    this.#characters += text.length;
    while (this.#entries.size > this.#maxEntries || this.#characters > this.#maxCharacters) this.#dropOldest();
  }

  delete(text: string): void {
    if (this.#entries.delete(text)) this.#characters -= text.length;
  }

  clear(): void {
    this.#entries.clear();
    this.#characters = 0;
  }

  #dropOldest(): void {
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.delete(oldest.value);
  }
}
