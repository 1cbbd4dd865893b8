import { existsSync } from 'node:fs';
import { type Clock, systemClock } from '@signet/policy-engine/clock';
import { replaceFile } from '@signet/policy-engine/internal/files';
import type { ClientIdentity } from '../client.ts';
import { SignetClientError } from '../client-errors.ts';
import { hasCome, later, type Moment, minPauseMs, pauseAfter } from '../identity/renewal.ts';
import { runSteps } from '../run-steps.ts';
import type { AccessToken, IdToken } from './cached-token.ts';
import type { IdTokenQuery, TokenQuery, Tokens } from './tokens.ts';

/** Options of `openTokenKeeper`. */
export interface TokenKeeperOptions {
  /** Client that gets the token; it stays open when the keeper ends. */
  readonly client: {
    readonly tokens: Pick<Tokens, 'get' | 'getId' | 'forget'>;
    identity(): Promise<Pick<ClientIdentity, 'thumbprint'>>;
  };
  /** Query of the token; with `service` it is the ID token for that service. */
  readonly query: TokenQuery & Partial<Pick<IdTokenQuery, 'service'>>;
  /** The file that holds the token and nothing else: mode 0600, replaced in one step. Its folder must exist. */
  readonly file: string;
  readonly clock?: Clock;
  /** Milliseconds since some moment, of a clock that is never set; default that of the process. */
  readonly steady?: () => number;
  /** Random source for the time of renewal and the pauses after failures, between 0 and 1; default random. */
  readonly random?: () => number;
}

/** Result of one step. Times in milliseconds since the epoch. */
export type KeptTokenOutcome =
  | { readonly kind: 'written'; readonly expiresAt: number; readonly nextAt: number }
  /** Result if nothing is due yet; without `expiresAt` no token was written so far. */
  | { readonly kind: 'current'; readonly expiresAt?: number; readonly nextAt: number }
  /** Failure without a change: the token in the file stays there until it expires, and longer. */
  | {
      readonly kind: 'failed';
      readonly error: SignetClientError;
      readonly expiresAt?: number;
      readonly nextAt: number;
    };

/** Keeper of one fresh token in a file. */
export interface TokenKeeper {
  /** Does what is due: gets a token and writes it, or nothing. Never throws. */
  step(options?: { readonly signal?: AbortSignal }): Promise<KeptTokenOutcome>;
  /** Steps whenever something is due, until the signal fires. Waits for what is done with an outcome. */
  run(signal: AbortSignal, onOutcome?: (outcome: KeptTokenOutcome) => unknown): Promise<void>;
}

interface Written {
  readonly token: AccessToken;
  /** Thumbprint of the certificate that the token is bound to. */
  readonly thumbprint: string;
  readonly expiresAt: number;
  readonly renewAt: Moment;
}

class Keeper implements TokenKeeper {
  readonly #options: TokenKeeperOptions;
  readonly #clock: Clock;
  readonly #steady: () => number;
  readonly #random: () => number;
  #written: Written | undefined;
  #failures = 0;
  #retryAt: Moment = { wall: 0, steady: 0 };

  constructor(options: TokenKeeperOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#steady = options.steady ?? (() => Math.round(performance.now()));
    this.#random = options.random ?? Math.random;
  }

  async step({ signal }: { readonly signal?: AbortSignal } = {}): Promise<KeptTokenOutcome> {
    try {
      return await this.#step(signal);
    } catch (error) {
      return this.#failed(toClientError(error, this.#options.file));
    }
  }

  async run(signal: AbortSignal, onOutcome: (outcome: KeptTokenOutcome) => unknown = () => undefined): Promise<void> {
    await runSteps(() => this.step({ signal }), { signal, now: () => this.#clock.now(), onOutcome });
  }

  async #step(signal: AbortSignal | undefined): Promise<KeptTokenOutcome> {
    const { client } = this.#options;
    const { thumbprint } = await client.identity();
    const [written, now] = [this.#written, this.#now()];
    const isPausing = this.#failures > 0 && !hasCome(this.#retryAt, now);
    // A token that is bound to a certificate counts with that one alone.
    const isFresh =
      written?.thumbprint === thumbprint && !hasCome(written.renewAt, now) && existsSync(this.#options.file);
    if (isPausing) return this.#current(this.#retryAt, now);
    if (isFresh) return this.#current(written.renewAt, now);
    return await this.#renew(thumbprint, written, signal);
  }

  #current({ wall, steady }: Moment, now: Moment): KeptTokenOutcome {
    const nextAt = Math.min(wall, now.wall + Math.max(0, steady - now.steady));
    return { kind: 'current', nextAt, ...expiryOf(this.#written) };
  }

  async #renew(
    thumbprint: string,
    written: Written | undefined,
    signal: AbortSignal | undefined,
  ): Promise<KeptTokenOutcome> {
    const { client, file, query } = this.#options;
    if (written !== undefined) await client.tokens.forget(query, written.token);
    const asked = this.#now();
    const { token, text } = await this.#obtain(signal);
    await replaceFile(file, text, { mode: 0o600 });
    const { expiresAt } = token;
    // Renewed between half and seven tenths of its life, so that tokens issued together spread; not sooner than after ten seconds, also by a
    // clock that is ahead.
    const renewAt = later(asked, Math.max(minPauseMs, (expiresAt - asked.wall) * (0.5 + 0.2 * this.#random())));
    this.#written = { token, thumbprint, expiresAt, renewAt };
    this.#failures = 0;
    return { kind: 'written', expiresAt, nextAt: renewAt.wall };
  }

  async #obtain(signal: AbortSignal | undefined): Promise<{ token: AccessToken | IdToken; text: string }> {
    const { tokens } = this.#options.client;
    const { service, ...rest } = this.#options.query;
    const query = { ...rest, ...(signal !== undefined && { signal }) };
    if (service === undefined) {
      const token = await tokens.get(query);
      return { token, text: token.accessToken };
    }
    const token = await tokens.getId({ ...query, service });
    return { token, text: token.idToken };
  }

  #now(): Moment {
    return { wall: this.#clock.now(), steady: this.#steady() };
  }

  #failed(error: SignetClientError): KeptTokenOutcome {
    const [written, now] = [this.#written, this.#now()];
    this.#failures += 1;
    const left = written === undefined ? undefined : written.expiresAt - now.wall;
    const delay = pauseAfter(error, this.#failures, left, this.#random());
    this.#retryAt = later(now, delay);
    return { kind: 'failed', error, nextAt: this.#retryAt.wall, ...expiryOf(written) };
  }
}

function expiryOf(written: Written | undefined): { readonly expiresAt?: number } {
  return written === undefined ? {} : { expiresAt: written.expiresAt };
}

function toClientError(cause: unknown, file: string): SignetClientError {
  if (cause instanceof SignetClientError) return cause;
  const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
  return new SignetClientError('invalid-cache', `\`${file}\` cannot be written (${reason})`, { cause });
}

/**
 * Makes a keeper that gets a token, writes it into a file for programs that can read no more than a file, and replaces it between half and
 * seven tenths of its life, or once the client has another certificate. While the server is away the token that is there stays.
 */
export function openTokenKeeper(options: TokenKeeperOptions): TokenKeeper {
  return new Keeper(options);
}
