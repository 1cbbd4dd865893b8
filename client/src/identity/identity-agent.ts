import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, systemClock } from '@signet/policy-engine/clock';
import { SignetClientError } from '../errors.ts';
import { type IdentityTexts, readIdentityFiles, writeIdentityFiles } from './identity-files.ts';
import { type InstanceName, type ReceivedIdentity, refreshInstance, registerInstance } from './instance-requests.ts';
import { type CertificateLife, dueStep, renewalTime, retryDelay } from './renewal.ts';

/** Options of `openIdentityAgent`. */
export interface IdentityAgentOptions {
  /** `https` URL of the API, e.g. `https://localhost:4443/v1`. */
  readonly baseUrl: string;
  /** File of the CA certificates that the server's certificate must chain to. */
  readonly caBundle: string;
  readonly instance: InstanceName;
  /** Where certificate, key and issuers are kept: `cert.pem`, `key.pem`, `issuers.pem`. */
  readonly folder: string;
  /** What attests the instance, asked for whenever it registers. `undefined`: there is nothing (yet). */
  readonly attestation: (operation: 'register' | 'refresh') => Promise<string | undefined>;
  /** For a whole exchange. Default 30,000. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  /** Between 0 and 1; default random. */
  readonly random?: () => number;
}

/** What one step did. Times in milliseconds since the epoch. */
export type IdentityOutcome =
  | {
      readonly kind: 'registered' | 'refreshed';
      readonly notAfter: number;
      readonly serial: string;
      readonly nextAt: number;
    }
  | { readonly kind: 'current'; readonly notAfter: number; readonly nextAt: number }
  /** Nothing changed; a certificate that is in use stays in use until it ends. */
  | { readonly kind: 'failed'; readonly error: SignetClientError; readonly notAfter?: number; readonly nextAt: number };

/** Keeps the certificate of one instance. */
export interface IdentityAgent {
  /** Does what is due: register, refresh, or nothing; never throws. `force` renews whatever the time. */
  step(options?: { readonly force?: boolean; readonly signal?: AbortSignal }): Promise<IdentityOutcome>;
  /** Steps whenever something is due, until the signal fires. */
  run(signal: AbortSignal, onOutcome?: (outcome: IdentityOutcome) => void): Promise<void>;
}

/** The longest sleep of `run`: a clock that is set, or a file that is removed, is noticed by then. */
const maxSleepMs = 60_000;

interface Known extends CertificateLife {
  readonly texts: IdentityTexts;
  readonly renewAt: number;
}

/** How an agent reaches the server: over HTTP, or as a test wants it. */
export interface IdentityTransport {
  register(attestation: string, signal?: AbortSignal): Promise<ReceivedIdentity>;
  refresh(texts: IdentityTexts, attestation: string | undefined, signal?: AbortSignal): Promise<ReceivedIdentity>;
}

class Agent implements IdentityAgent {
  readonly #options: IdentityAgentOptions;
  readonly #transport: IdentityTransport;
  readonly #clock: Clock;
  readonly #random: () => number;
  #known: Known | undefined;
  #failures = 0;
  #retryAt = 0;

  constructor(options: IdentityAgentOptions, transport: IdentityTransport) {
    this.#options = options;
    this.#transport = transport;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
  }

  async step(options: { readonly force?: boolean; readonly signal?: AbortSignal } = {}): Promise<IdentityOutcome> {
    try {
      return await this.#step(options);
    } catch (error) {
      return this.#failed(toClientError(error));
    }
  }

  async run(signal: AbortSignal, onOutcome: (outcome: IdentityOutcome) => void = () => undefined): Promise<void> {
    while (!signal.aborted) {
      const outcome = await this.step({ signal });
      if (signal.aborted) return;
      onOutcome(outcome);
      const sleep = Math.min(maxSleepMs, Math.max(100, outcome.nextAt - this.#clock.now()));
      await pause(sleep, undefined, { signal }).catch(() => undefined);
    }
  }

  async #step({
    force = false,
    signal,
  }: {
    readonly force?: boolean;
    readonly signal?: AbortSignal;
  }): Promise<IdentityOutcome> {
    const now = this.#clock.now();
    await this.#load(now);
    const known = this.#known;
    const due = dueStep(known, known?.renewAt ?? 0, now);
    if (known !== undefined && !force && (due === 'wait' || (this.#failures > 0 && now < this.#retryAt))) {
      return { kind: 'current', notAfter: known.notAfter, nextAt: Math.max(known.renewAt, this.#retryAt) };
    }
    if (due === 'register' || known === undefined) return this.#accept('registered', await this.#register(signal));
    try {
      return await this.#accept('refreshed', await this.#refresh(known, signal));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // Revoked, deleted or unknown: only attestation helps now.
      return this.#accept('registered', await this.#register(signal));
    }
  }

  /** The files are the truth: another process may have renewed, or somebody removed them. */
  async #load(now: number): Promise<void> {
    const texts = await readIdentityFiles(this.#options.folder);
    if (texts === undefined) this.#known = undefined;
    else if (texts.certificate !== this.#known?.texts.certificate) this.#known = this.#read(texts, now);
  }

  #read(texts: IdentityTexts, now: number): Known | undefined {
    try {
      const leaf = new X509Certificate(texts.certificate);
      const notAfter = leaf.validToDate.getTime();
      // Certificates begin up to an hour before they are issued; an hour later is the latest that it can have been.
      const issuedAt = Math.min(now, leaf.validFromDate.getTime() + 3_600_000);
      return { texts, issuedAt, notAfter, renewAt: renewalTime({ issuedAt, notAfter }, this.#random()) };
    } catch {
      return undefined;
    }
  }

  async #register(signal: AbortSignal | undefined): Promise<ReceivedIdentity> {
    const data = await this.#options.attestation('register');
    if (data === undefined) {
      throw new SignetClientError('invalid-argument', 'there is nothing to attest the instance with');
    }
    return this.#transport.register(data, signal);
  }

  async #refresh(known: Known, signal: AbortSignal | undefined): Promise<ReceivedIdentity> {
    const data = await this.#options.attestation('refresh');
    return this.#transport.refresh(known.texts, data, signal);
  }

  async #accept(kind: 'registered' | 'refreshed', identity: ReceivedIdentity): Promise<IdentityOutcome> {
    const now = this.#clock.now();
    const { notAfter, serial, ...texts } = identity;
    await writeIdentityFiles(this.#options.folder, texts, serial);
    const life = { issuedAt: now, notAfter };
    const renewAt = renewalTime(life, this.#random());
    this.#known = { texts, ...life, renewAt };
    this.#failures = 0;
    this.#retryAt = 0;
    return { kind, notAfter, serial, nextAt: renewAt };
  }

  #failed(error: SignetClientError): IdentityOutcome {
    const now = this.#clock.now();
    const left = this.#known === undefined ? undefined : this.#known.notAfter - now;
    this.#failures += 1;
    this.#retryAt = now + retryDelay(this.#failures, left, this.#random());
    return { kind: 'failed', error, nextAt: this.#retryAt, ...(this.#known && { notAfter: this.#known.notAfter }) };
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof SignetClientError && (error.status === 401 || error.status === 403);
}

function toClientError(error: unknown): SignetClientError {
  if (error instanceof SignetClientError) return error;
  const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return new SignetClientError('invalid-identity', `a file of the identity cannot be read or written (${reason})`, {
    cause: error,
  });
}

function httpTransport({ baseUrl, caBundle, instance, timeoutMs = 30_000 }: IdentityAgentOptions): IdentityTransport {
  const peer = async () => ({ baseUrl, caBundle: await readFile(caBundle, 'utf8'), timeoutMs });
  return {
    register: async (attestation, signal) => registerInstance(await peer(), instance, attestation, signal),
    refresh: async (identity, attestation, signal) =>
      refreshInstance({ ...(await peer()), identity }, instance, attestation, signal),
  };
}

/**
 * Makes an agent that registers an instance, keeps its certificate in files and renews it in time. While the server is away the
 * certificate in use stays in use; one that has ended, or that the server does not accept any more, leads to a new registration.
 */
export function openIdentityAgent(
  options: IdentityAgentOptions,
  transport: IdentityTransport = httpTransport(options),
): IdentityAgent {
  return new Agent(options, transport);
}
