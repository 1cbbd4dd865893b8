import { createHash, timingSafeEqual } from 'node:crypto';

interface SessionOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** 256 random bits in base64url, anew with each call. */
  readonly random: () => string;
  /** The link is good any number of times, and the session does not end by itself: for `signet dev`. */
  readonly isLasting: boolean;
}

/** A link is good for one minute, a session for eight hours and until it is not used for one. */
const linkMs = 60_000;
const sessionMs = 8 * 3_600_000;
const idleMs = 3_600_000;

/**
 * The one session of a console: a secret in the path of every page, to which a link with another secret leads. A cookie of `localhost` would go
 * to every port of this machine.
 */
export class Session {
  readonly code: string;
  readonly path: string;
  readonly #now: () => number;
  readonly #isLasting: boolean;
  readonly #start: number;
  #used: number;
  #isOpened = false;

  constructor({ now, random, isLasting }: SessionOptions) {
    this.code = random();
    this.path = random();
    this.#now = now;
    this.#isLasting = isLasting;
    this.#start = now();
    this.#used = this.#start;
  }

  /** True if the link with this code leads to the session; a second time only where it lasts. */
  open(code: string): boolean {
    if (!isSame(code, this.code)) return false;
    if (this.#isLasting) return true;
    if (this.#isOpened || this.#now() - this.#start > linkMs) return false;
    this.#isOpened = true;
    this.#used = this.#now();
    return true;
  }

  /** True if a path begins with the secret of the session, which has not ended; this counts as a use. */
  admits(path: string): boolean {
    if (!isSame(path, this.path) || this.isOver()) return false;
    this.#used = this.#now();
    return true;
  }

  isOver(): boolean {
    if (this.#isLasting) return false;
    const now = this.#now();
    return now - this.#start > sessionMs || now - this.#used > idleMs;
  }
}

/** Compares without telling by its time how much is the same. */
function isSame(given: string, secret: string): boolean {
  return timingSafeEqual(digest(given), digest(secret));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
