import { type Clock, systemClock } from '@signet/policy-engine/clock';
import { SignetClientError } from '../client-errors.ts';
import { runSteps } from '../run-steps.ts';
import {
  type IdentityTexts,
  lockIdentityFolder,
  putIdentityFiles,
  readIdentityFiles,
  requireRoom,
} from './identity-files.ts';
import { httpTransport, type IdentityTransport } from './identity-transport.ts';
import type { InstanceName, ReceivedIdentity } from './instance-requests.ts';
import { certificateState, hasCome, identityLife, later, type Moment, pauseAfter } from './renewal.ts';

/** Options of `openIdentityAgent`. */
export interface IdentityAgentOptions {
  /** `https` URL of the API, e.g. `https://localhost:4443/v1`; or those of several servers, asked in this order while one is away. */
  readonly baseUrl: string | readonly string[];
  /** File of the CA certificates that the server's certificate must chain to. */
  readonly caBundle: string;
  /** Expected identity in the server's certificate, as for `createClient`. Default `sys.auth.server`. */
  readonly serverIdentity?: string | undefined;
  readonly instance: InstanceName;
  /** Folder of certificate, key and issuers: `cert.pem`, `key.pem`, `issuers.pem`. */
  readonly folder: string;
  /** Attestation of the instance, obtained whenever it registers. `undefined`: there is none (yet). */
  readonly attestation: (operation: 'register' | 'refresh') => Promise<string | undefined>;
  /** Timeout of a whole exchange. Default 30,000. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  /** Milliseconds since some moment, of a clock that is never set; default that of the process. */
  readonly steady?: () => number;
  /** Random source for the pauses after failures, between 0 and 1; default random. */
  readonly random?: () => number;
}

/** Result of one step. Times in milliseconds since the epoch. */
export type IdentityOutcome =
  | {
      readonly kind: 'registered' | 'refreshed';
      readonly notAfter: number;
      readonly serial: string;
      readonly nextAt: number;
    }
  | { readonly kind: 'current'; readonly notAfter: number; readonly nextAt: number }
  /** Failure without a change; a certificate that is in use stays in use until it expires. */
  | { readonly kind: 'failed'; readonly error: SignetClientError; readonly notAfter?: number; readonly nextAt: number };

/** Agent that keeps the certificate of one instance valid. */
export interface IdentityAgent {
  /** Takes the due step: register, refresh, or nothing; never throws. `force` renews whatever the time. */
  step(options?: { readonly force?: boolean; readonly signal?: AbortSignal }): Promise<IdentityOutcome>;
  /** Steps whenever something is due, until the signal fires. Waits for what is done with an outcome. */
  run(signal: AbortSignal, onOutcome?: (outcome: IdentityOutcome) => unknown): Promise<void>;
}

const usualTimeoutMs = 30_000;

interface Known {
  readonly texts: IdentityTexts;
  /** Expiry of the certificate, in milliseconds since the epoch. */
  readonly notAfter: number;
  readonly renewAt: Moment;
  readonly endsAt: Moment;
}

function knownFrom(texts: IdentityTexts, issued: Moment): Known {
  const { notAfter, renewAfterMs, endAfterMs } = identityLife(texts, issued.wall);
  return { texts, notAfter, renewAt: later(issued, renewAfterMs), endsAt: later(issued, endAfterMs) };
}

class Agent implements IdentityAgent {
  readonly #options: IdentityAgentOptions;
  readonly #transport: IdentityTransport;
  readonly #clock: Clock;
  readonly #random: () => number;
  #known: Known | undefined;
  readonly #steady: () => number;
  #failures = 0;
  #retryAt: Moment = { wall: 0, steady: 0 };

  constructor(options: IdentityAgentOptions, transport: IdentityTransport) {
    this.#options = options;
    this.#transport = transport;
    this.#clock = options.clock ?? systemClock;
    this.#steady = options.steady ?? (() => Math.round(performance.now()));
    this.#random = options.random ?? Math.random;
  }

  async step(options: { readonly force?: boolean; readonly signal?: AbortSignal } = {}): Promise<IdentityOutcome> {
    try {
      return await this.#step(options);
    } catch (error) {
      return this.#failed(toClientError(error));
    }
  }

  async run(signal: AbortSignal, onOutcome: (outcome: IdentityOutcome) => unknown = () => undefined): Promise<void> {
    await runSteps(() => this.step({ signal }), { signal, now: () => this.#clock.now(), onOutcome });
  }

  async #step({
    force = false,
    signal,
  }: {
    readonly force?: boolean;
    readonly signal?: AbortSignal;
  }): Promise<IdentityOutcome> {
    await this.#load();
    const idle = this.#idle(force);
    if (idle !== undefined) return idle;
    const { folder, timeoutMs = usualTimeoutMs } = this.#options;
    await using _ = await lockIdentityFolder(folder, { waitMs: timeoutMs, signal });
    await this.#load();
    // Another process may have renewed meanwhile.
    return this.#idle(force) ?? (await this.#renew(signal));
  }

  /** Outcome while nothing is due. */
  #idle(force: boolean): IdentityOutcome | undefined {
    const [known, now] = [this.#known, this.#now()];
    if (known === undefined || force) return undefined;
    const isPausing = this.#failures > 0 && !hasCome(this.#retryAt, now);
    if (certificateState(known, now) !== 'fresh' && !isPausing) return undefined;
    return { kind: 'current', notAfter: known.notAfter, nextAt: this.#nextAt(known, now) };
  }

  async #renew(signal: AbortSignal | undefined): Promise<IdentityOutcome> {
    const known = this.#known;
    const hasEnded = known !== undefined && certificateState(known, this.#now()) === 'ended';
    await requireRoom(this.#options.folder);
    if (known === undefined) return this.#accept('registered', await this.#register(signal));
    try {
      return await this.#accept('refreshed', await this.#refresh(known, signal));
    } catch (error) {
      // Revoked, deleted, unknown, or ended: only attestation helps now.
      const isOver = isRefusal(error) || (hasEnded && !isServersFault(error));
      if (!isOver || signal?.aborted === true) throw error;
      return this.#accept('registered', await this.#register(signal));
    }
  }

  #now(): Moment {
    return { wall: this.#clock.now(), steady: this.#steady() };
  }

  /** Next step on the present wall clock. */
  #nextAt(known: Known, now: Moment): number {
    const next = this.#failures > 0 ? this.#retryAt : known.renewAt;
    return Math.min(next.wall, now.wall + Math.max(0, next.steady - now.steady));
  }

  /** Loads the files, which are authoritative: another process may have renewed, or an operator removed them. */
  async #load(): Promise<void> {
    const texts = await readIdentityFiles(this.#options.folder);
    if (texts === undefined) this.#known = undefined;
    else if (texts.certificate !== this.#known?.texts.certificate) this.#known = this.#read(texts);
  }

  #read(texts: IdentityTexts): Known | undefined {
    try {
      const now = this.#now();
      // A certificate that begins in the future has just been issued: this clock is behind.
      const age = Math.max(0, now.wall - identityLife(texts, now.wall).issuedAt);
      return knownFrom(texts, later(now, -age));
    } catch {
      return undefined;
    }
  }

  async #register(signal: AbortSignal | undefined): Promise<ReceivedIdentity> {
    const data = await this.#options.attestation('register');
    if (data === undefined) {
      throw new SignetClientError('invalid-argument', 'attestation data is missing');
    }
    return this.#transport.register(data, signal);
  }

  async #refresh(known: Known, signal: AbortSignal | undefined): Promise<ReceivedIdentity> {
    const data = await this.#options.attestation('refresh');
    return this.#transport.refresh(known.texts, data, signal);
  }

  async #accept(kind: 'registered' | 'refreshed', identity: ReceivedIdentity): Promise<IdentityOutcome> {
    const { notAfter, serial, ...texts } = identity;
    const known = knownFrom(texts, this.#now());
    await putIdentityFiles(this.#options.folder, texts, serial);
    this.#known = known;
    this.#failures = 0;
    return { kind, notAfter, serial, nextAt: known.renewAt.wall };
  }

  #failed(error: SignetClientError): IdentityOutcome {
    const [known, now] = [this.#known, this.#now()];
    const left = known === undefined ? undefined : known.endsAt.wall - now.wall;
    this.#failures += 1;
    const delay = pauseAfter(error, this.#failures, left, this.#random());
    this.#retryAt = later(now, delay);
    return { kind: 'failed', error, nextAt: this.#retryAt.wall, ...(known && { notAfter: known.notAfter }) };
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof SignetClientError && (error.status === 401 || error.status === 403);
}

/** An answer 5xx: a registration right after it would be answered the same. */
function isServersFault(error: unknown): boolean {
  return error instanceof SignetClientError && error.status !== undefined && error.status >= 500;
}

function toClientError(error: unknown): SignetClientError {
  if (error instanceof SignetClientError) return error;
  if (error instanceof Error && error.name === 'AbortError') {
    return new SignetClientError('aborted', 'the request was aborted by the caller', { cause: error });
  }
  const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return new SignetClientError('invalid-identity', `a file of the identity cannot be read or written (${reason})`, {
    cause: error,
  });
}

/**
 * Makes an agent that registers an instance, keeps its certificate in files and renews it in time. While the server is away the
 * certificate in use stays in use; one that has expired, or that the server does not accept any more, leads to a new registration.
 */
export function openIdentityAgent(
  options: IdentityAgentOptions,
  transport: IdentityTransport = httpTransport({ ...options, baseUrls: [options.baseUrl].flat() }),
): IdentityAgent {
  return new Agent(options, transport);
}
