import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { SignetClientError } from '../client-errors.ts';
import { isObject } from '../decode.ts';
import type { CachedToken } from './cached-token.ts';

/** The longest life that a server gives to a token (docs/reference/tokens.md#lifetimes), in milliseconds. */
const maxLifeMs = 30 * 86_400_000;

/** Largest file that is read, in bytes. */
const maxBytes = 16 << 20;

/**
 * Tokens in a file, so that a program that starts often asks less often. The file holds secrets: it is made with mode 0600,
 * replaced in one step, and one that others may read or write, or that is not a plain file of this user, is neither read nor
 * overwritten. Programs that share it may lose each other's newest entry, never get a broken one. Throws `invalid-cache`.
 */
export class TokenFile {
  readonly #path: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  /** The kept tokens by their keys, without those whose life cannot be; a file with unreadable content is as good as an empty one. */
  async read(now: number): Promise<ReadonlyMap<string, CachedToken>> {
    return parse(await this.#readText(), now);
  }

  /** Adds a token and drops those that have expired. */
  async add(key: string, token: CachedToken, now: number): Promise<void> {
    const turn = this.#writing.then(async () => {
      const entries = [...(await this.read(now)), [key, token] as const].filter(
        ([, each]) => each.token.expiresAt > now,
      );
      await this.#replace(JSON.stringify({ version: 1, tokens: Object.fromEntries(entries) }));
    });
    this.#writing = turn.catch(() => undefined);
    await turn;
  }

  /** Resolves when everything added so far is written. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** Empty when there is no file. */
  async #readText(): Promise<string> {
    try {
      // O_NONBLOCK: opening a pipe must not wait for a writer
      await using file = await open(this.#path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const { mode, uid, size } = await file.stat();
      const isOwn = process.getuid === undefined || uid === process.getuid();
      if ((mode & 0o170000) !== 0o100000 || !isOwn || (mode & 0o077) !== 0 || size > maxBytes) {
        throw new SignetClientError('invalid-cache', 'tokenCacheFile must be a plain file of this user with mode 0600');
      }
      return await file.readFile('utf8');
    } catch (cause) {
      if (cause instanceof SignetClientError) throw cause;
      if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return '';
      throw new SignetClientError('invalid-cache', 'tokenCacheFile cannot be read', { cause });
    }
  }

  async #replace(text: string): Promise<void> {
    try {
      await replaceFile(this.#path, text, { mode: 0o600 });
    } catch (cause) {
      throw new SignetClientError('invalid-cache', 'tokenCacheFile cannot be written', { cause });
    }
  }
}

function parse(text: string, now: number): ReadonlyMap<string, CachedToken> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return new Map();
  }
  if (!isObject(json) || json['version'] !== 1 || !isObject(json['tokens'])) return new Map();
  return new Map(
    Object.entries(json['tokens']).flatMap(([key, value]) => {
      const token = parseEntry(value);
      return token === undefined || !canLive(token, now) ? [] : [[key, token] as const];
    }),
  );
}

/**
 * True if the stated life of a cached token is possible: at most what a server gives and what was requested, which is more than nothing. A
 * damaged file, or one of a clock that ran ahead, would otherwise keep an expired token in use.
 */
function canLive({ token: { expiresAt }, lifetimeMs }: CachedToken, now: number): boolean {
  const isWhole = Number.isSafeInteger(expiresAt) && Number.isSafeInteger(lifetimeMs);
  return isWhole && lifetimeMs > 0 && expiresAt - now <= Math.min(lifetimeMs, maxLifeMs);
}

function parseEntry(value: unknown): CachedToken | undefined {
  if (!isObject(value) || !isObject(value['token'])) return undefined;
  const { lifetimeMs, token } = value;
  const { accessToken, scope, expiresAt, idToken } = token as Readonly<Record<string, unknown>>;
  if (typeof lifetimeMs !== 'number' || typeof expiresAt !== 'number' || typeof accessToken !== 'string') return;
  if (!Array.isArray(scope) || !scope.every((each) => typeof each === 'string')) return undefined;
  const common = { accessToken, tokenType: 'Bearer' as const, scope, expiresAt };
  return { lifetimeMs, token: typeof idToken === 'string' ? { ...common, idToken } : common };
}
