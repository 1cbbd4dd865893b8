import { blindLife } from '../keys/key-source.ts';
import type { VerifiedAccessToken } from './claims.ts';

interface Entry {
  readonly text: string;
  readonly token: VerifiedAccessToken;
  readonly revision: number | undefined;
  /** Milliseconds since the epoch; later the token is verified again. */
  readonly until: number;
}

/** How many characters at the end of a token say where it is kept: 68 bits of a signature, which its bearer cannot choose. */
const tailLength = 12;

/** A number for the end of a text. To hash all of a text that is fresh from a header costs more than the rest of a decision. */
function tailOf(text: string): number {
  let hash = 0;
  for (let at = Math.max(0, text.length - tailLength); at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash;
}

/**
 * Verified tokens by the end of their text; the full text is compared, so that none passes for another one, and of two with the same number
 * the later one is kept. Bounded in entries and in characters; when it is full, the oldest entry goes.
 */
export class TokenCache {
  readonly #entries = new Map<number, Entry>();
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
    const tail = tailOf(text);
    const entry = this.#entries.get(tail);
    // INVARIANT: an unverified text removes no entry, whatever its end is.
    if (entry === undefined || entry.text !== text) return undefined;
    if (entry.revision === revision && now < entry.until) return entry.token;
    this.#drop(tail, entry);
    return undefined;
  }

  set(text: string, token: VerifiedAccessToken, now: number, revision: number | undefined): void {
    if (this.#maxEntries <= 0) return;
    const tail = tailOf(text);
    const earlier = this.#entries.get(tail);
    if (earlier !== undefined) this.#drop(tail, earlier);
    const expires = token.expires * 1000;
    const until = revision === undefined ? Math.min(expires, now + blindLife) : expires;
    this.#entries.set(tail, { text, token, revision, until });
    this.#characters += text.length;
    while (this.#entries.size > this.#maxEntries || this.#characters > this.#maxCharacters) this.#dropOldest();
  }

  clear(): void {
    this.#entries.clear();
    this.#characters = 0;
  }

  #dropOldest(): void {
    for (const [tail, entry] of this.#entries) {
      this.#drop(tail, entry);
      return;
    }
  }

  #drop(tail: number, entry: Entry): void {
    this.#entries.delete(tail);
    this.#characters -= entry.text.length;
  }
}
