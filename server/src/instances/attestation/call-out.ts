import { isIP } from 'node:net';
import type { PeerCertificate } from 'node:tls';
import type { Clock } from '@signet/policy-engine/clock';
import { secureClientOptions } from '@signet/policy-engine/http';
import { DerError } from '@signet/policy-engine/internal/der';
import { parseStrictJson } from '@signet/policy-engine/json';
import type { PrincipalName } from '@signet/policy-engine/names';
import { LRUCache } from 'lru-cache';
import type { Agent } from 'undici';
import { z } from 'zod';
import { isOfPredecessor } from '../../access/known-identity.ts';
import { atMost } from '../../base/at-most.ts';
import { readAtMost } from '../../base/read-at-most.ts';
import { strangerOf } from '../../budgets/client-addresses.ts';
import { ForbiddenError, TooManyRequestsError } from '../../errors.ts';
import { issueTimeOf } from '../../x509/build-certificate.ts';
import { readCertificate } from '../../x509/certificate-reader.ts';
import { type AddressPolicy, addressToCall } from './addresses.ts';
import { type AttestationProvider, type AttestationRequest, ProviderFailedError } from './attestation.ts';
import { type CallOutCaller, CallSlots, type TakenBy } from './call-slots.ts';
import { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.ts';
import { attestedBy, confirmationFor, confirmationSchema } from './confirmation.ts';
import { type LookUp, sharedLookUp } from './shared-look-up.ts';

/** The certificate with which the server calls providers, and the roots that theirs must chain to. PEM. */
interface CallOutIdentity {
  readonly certificate: string;
  readonly key: string;
  readonly roots: string;
}

export interface CallOutDeps {
  readonly addresses: AddressPolicy;
  readonly identity: () => Promise<CallOutIdentity>;
  readonly clock: Clock;
  /** Predicate: the certificate with this serial number (lower-case hexadecimal) was revoked. */
  readonly isRevoked: (serial: string) => boolean;
  /** Timeout of the whole exchange: name look-up, connection, request and answer. */
  readonly timeoutMs: number;
  /** Predicate: many clients have this address. */
  readonly isShared: (address: string) => boolean;
  /** Trace context of the request, to pass on. Absent: no spans are collected. */
  readonly traceparent?: (() => string | undefined) | undefined;
  /** Predicate: a DNS name that needs no attestation. */
  readonly isOwnName: (name: string) => boolean;
  /** Default: as the system finds them. */
  readonly lookUp?: LookUp | undefined;
}

/** Calls the endpoints of providers, as often at a time as `CallSlots` says. One circuit for each provider and caller: neither costs the others anything. */
export interface CallOut {
  /** Certificates that were issued before `credentialsFrom` (milliseconds) are of a deleted service of that name. */
  provider(name: PrincipalName, endpoint: string, credentialsFrom: number): AttestationProvider;
}

const maxAnswerBytes = 65_536;
const failuresUntilOpen = 5;
const pauseMs = 30_000;
/** Circuits kept, of one caller and provider each. One that is forgotten only forgets failures. */
const maxCircuits = 4096;

type ExchangeDeps = CallOutDeps & { readonly lookUp: LookUp };

interface Target {
  readonly url: URL;
  /** Address to connect to: looked up once and then fixed, so that no second look-up can lead elsewhere. */
  readonly address: string;
  readonly host: string;
}

export function createCallOut(given: CallOutDeps): CallOut {
  const deps: ExchangeDeps = { ...given, lookUp: sharedLookUp(given.lookUp) };
  const guards: Guards = { slots: new Map(), circuits: new LRUCache(atMost(maxCircuits)) };
  return {
    provider: (name, endpoint, credentialsFrom) => ({
      attest: async (request) => {
        const text = await guarded(deps, guards, {
          provider: name,
          caller: callerOf(deps, request),
          exchange: () => exchange(deps, { name, endpoint, credentialsFrom }, request),
        });
        return attestedBy(readAnswer(text, name, request));
      },
    }),
  };
}

/** Guards that keep callers and providers from blocking others. */
interface Guards {
  readonly slots: Map<PrincipalName, CallSlots>;
  readonly circuits: LRUCache<string, CircuitBreaker>;
}

/**
 * Caller whose share a call-out takes: the instance that refreshes, or the registrant: by certificate, else by address. Strangers behind a
 * shared address are distinguished by the service that they claim to be.
 */
function callerOf({ isShared }: Pick<CallOutDeps, 'isShared'>, request: AttestationRequest): CallOutCaller {
  const { operation, principal, clientAddress, domain, service, instanceId } = request;
  if (operation === 'refresh') return { key: `refresh ${domain}.${service} ${instanceId}`, operation };
  const stranger = strangerOf(clientAddress);
  const key = principal ?? (isShared(clientAddress) ? `${stranger} ${domain}.${service}` : stranger);
  return { key: `register ${key}`, operation };
}

interface GuardedCall {
  readonly provider: PrincipalName;
  readonly caller: CallOutCaller;
  readonly exchange: () => Promise<string>;
}

async function guarded(
  deps: CallOutDeps,
  { slots, circuits }: Guards,
  { provider, caller, exchange }: GuardedCall,
): Promise<string> {
  const key = `${provider} ${caller.key}`;
  const breaker = circuits.get(key) ?? createCircuitBreaker(failuresUntilOpen, pauseMs);
  circuits.set(key, breaker);
  const taken = slots.get(provider) ?? new CallSlots();
  slots.set(provider, taken);
  requireSlot(deps, provider, taken.take(caller));
  try {
    requireClosed(breaker, provider, deps.clock.now());
    const answer = await exchange();
    breaker.succeeded();
    return answer;
  } catch (error) {
    // A refusal is an answer: the provider is there.
    if (error instanceof ForbiddenError) breaker.succeeded();
    else if (!(error instanceof CircuitOpenError)) breaker.failed(deps.clock.now());
    throw error;
  } finally {
    taken.release(caller);
    if (taken.isIdle) slots.delete(provider);
  }
}

/** The provider was not asked. */
class CircuitOpenError extends ProviderFailedError {}

/* Requires a closed breaker, kept for each caller: a caller whose calls fail or hang blocks the provider for no other. */
function requireClosed(breaker: CircuitBreaker, provider: PrincipalName, now: number): void {
  if (breaker.admits(now)) return;
  throw new CircuitOpenError(`provider \`${provider}\` does not answer`, {
    detail: { circuit: 'open' },
    retryAfterSeconds: Math.ceil(breaker.pauseLeft(now) / 1000),
  });
}

/** Requires a free slot; calls in flight end within the timeout. */
function requireSlot({ timeoutMs }: CallOutDeps, provider: PrincipalName, takenBy: TakenBy | undefined): void {
  if (takenBy === undefined) return;
  const retryAfterSeconds = Math.ceil(timeoutMs / 1000);
  const detail = { inFlight: takenBy };
  if (takenBy === 'caller') {
    const text = `too many requests of this caller wait for provider \`${provider}\`, try again in ${retryAfterSeconds} s`;
    throw new TooManyRequestsError(text, { detail, retryAfterSeconds });
  }
  throw new ProviderFailedError(`too many requests wait for provider \`${provider}\``, { detail, retryAfterSeconds });
}

function parseEndpoint(endpoint: string, provider: PrincipalName): URL {
  const url = URL.parse(endpoint);
  const isPlain = url?.username === '' || url?.username === 'athenz.client';
  if (url?.protocol !== 'https:' || !isPlain || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new ProviderFailedError(`the endpoint of provider \`${provider}\` is not an https address`);
  }
  url.username = '';
  return url;
}

async function locate(
  deps: Pick<ExchangeDeps, 'addresses' | 'lookUp'>,
  url: URL,
  provider: PrincipalName,
): Promise<Target> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const listed = deps.addresses.allowsHost(host);
  const addresses = isIP(host) === 0 ? await deps.lookUp(host) : [host];
  const address = addressToCall(addresses, (each) => deps.addresses.allowsAddress(each, listed));
  if (address !== undefined) return { url, host, address };
  throw new ProviderFailedError(`the endpoint of provider \`${provider}\` is not one that may be called`);
}

/** Endpoint to call. */
interface Called {
  readonly name: PrincipalName;
  readonly endpoint: string;
  readonly credentialsFrom: number;
}

/*
 * Checks the provider's certificate. The protocol identifies the provider by its name, not by its host: any host may run it, and only the
 * provider's certificate is accepted.
 */
function isProvider(
  { isRevoked }: Pick<CallOutDeps, 'isRevoked'>,
  provider: Called,
): (host: string, certificate: PeerCertificate) => Error | undefined {
  return (_host, certificate) => {
    const name: unknown = certificate.subject?.CN;
    if (name !== provider.name) return new Error('the certificate is of another service');
    if (isRevoked(certificate.serialNumber.toLowerCase())) return new Error('the certificate was revoked');
    return isOfPredecessor(issueTimeIn(certificate), provider.credentialsFrom)
      ? new Error('the certificate is of a deleted service of the same name')
      : undefined;
  };
}

/** Time of issue in milliseconds since the epoch; 0 for a certificate that cannot be read. */
function issueTimeIn({ raw }: PeerCertificate): number {
  try {
    return issueTimeOf(readCertificate(raw)) * 1000;
  } catch (error) {
    if (error instanceof DerError) return 0;
    throw error;
  }
}

function agentOptions(deps: CallOutDeps, target: Target, identity: CallOutIdentity, provider: Called): Agent.Options {
  return {
    connect: {
      ca: identity.roots,
      cert: identity.certificate,
      key: identity.key,
      ...secureClientOptions,
      servername: isIP(target.host) === 0 ? target.host : '',
      checkServerIdentity: isProvider(deps, provider),
      lookup: (_host, options, answer) => {
        const family = isIP(target.address);
        if (options.all === true) answer(null, [{ address: target.address, family }]);
        else answer(null, target.address, family);
      },
      timeout: deps.timeoutMs,
    },
    pipelining: 0,
    maxHeaderSize: 16_384,
  };
}

async function exchange(deps: ExchangeDeps, called: Called, request: AttestationRequest): Promise<string> {
  const { name: provider } = called;
  const url = parseEndpoint(called.endpoint, provider);
  const signal = AbortSignal.timeout(deps.timeoutMs);
  let agent: Agent | undefined;
  try {
    const target = await within(signal, locate(deps, url, provider));
    // Loaded when the first provider is called: most servers call none.
    const { Agent, request: send } = await import('undici');
    agent = new Agent(agentOptions(deps, target, await within(signal, deps.identity()), called));
    const operation = request.operation === 'register' ? 'instance' : 'refresh';
    const traceparent = deps.traceparent?.();
    const trace = traceparent === undefined ? {} : { traceparent };
    const answer = await send(`${url.origin}${url.pathname.replace(/\/$/, '')}/${operation}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...trace },
      body: JSON.stringify(confirmationFor(request, deps.isOwnName)),
      dispatcher: agent,
      signal,
    });
    return acceptAnswer(provider, answer.statusCode, await within(signal, readBounded(answer.body)));
  } catch (cause) {
    if (cause instanceof ForbiddenError || cause instanceof ProviderFailedError) throw cause;
    const detail = { reason: cause instanceof Error ? cause.message : String(cause) };
    throw new ProviderFailedError(`provider \`${provider}\` does not answer`, { cause, detail });
  } finally {
    void agent?.destroy().catch(() => undefined);
  }
}

async function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const ended = new AbortController();
  const timeout = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('the time is over')), { signal: ended.signal, once: true });
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    ended.abort();
  }
}

/** The text of an answer. Throws when it is too long. */
export async function readBounded(body: AsyncIterable<Uint8Array>): Promise<string> {
  return (await readAtMost(body, maxAnswerBytes)).toString('utf8');
}

/* Accepts an answer: only 200 confirms. A redirect is not followed and confirms nothing; every other status is the provider's refusal. */
function acceptAnswer(provider: PrincipalName, status: number, text: string): string {
  if (status === 200) return text;
  if (status >= 300 && status < 400) {
    throw new ProviderFailedError(`provider \`${provider}\` does not answer`, { detail: { reason: 'redirect' } });
  }
  const said = reasonIn(text);
  throw new ForbiddenError(`provider \`${provider}\` does not vouch for the instance${said === '' ? '' : `: ${said}`}`);
}

const refusalSchema = z.object({ message: z.string() });

/** The provider's own words, made safe to pass on: printable, one line, short. */
function reasonIn(text: string): string {
  const refusal = refusalSchema.safeParse(parseJson(text));
  const words = refusal.success ? refusal.data.message : '';
  return words
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 200);
}

function readAnswer(
  text: string,
  provider: PrincipalName,
  request: AttestationRequest,
): Readonly<Record<string, string>> {
  const answer = confirmationSchema.safeParse(parseJson(text));
  if (!answer.success) throw new ProviderFailedError(`provider \`${provider}\` gave an answer that cannot be read`);
  const { data } = answer;
  if (data.provider !== provider || data.domain !== request.domain || data.service !== request.service) {
    throw new ForbiddenError(`provider \`${provider}\` vouches for something else`);
  }
  return data.attributes ?? {};
}

function parseJson(text: string): unknown {
  try {
    return parseStrictJson(text);
  } catch {
    return undefined;
  }
}
