import { systemClock } from '../clock.ts';
import { bareDecision } from '../policy/decide.ts';
import type { Decision } from '../policy/index.ts';
import { type CertificateInput, certificateThumbprint } from '../token/index.ts';
import type { ResourceError } from '../wire/index.ts';
import type { ConnectionOptions } from './connection-certificate.ts';
import { type ClientCertificate, clientCertificate, type Peer, type TrustedProxies } from './proxy-certificate.ts';
import { RequestRule, type RuleOptions, type SeenRequest } from './request-rule.ts';

/** What the middleware needs of an engine. */
export interface Decider {
  /** The domains that it was told are served. */
  readonly domains?: readonly string[] | undefined;
  decide(request: {
    token: string;
    action: string;
    resource: string;
    certificate?: CertificateInput;
  }): Promise<Decision>;
}

/** How requests are let through or refused; every middleware takes these. */
export interface ProtectOptions extends RuleOptions, ConnectionOptions {
  engine: Decider;
  /** Headers that may carry the token. Default `svc-role-auth`, `athenz-role-auth` and `authorization`. */
  tokenHeaders?: readonly string[];
  /** Answer 401 and 400 where RFC 6750 §3.1 has them, in place of 403 for everything. Default false. */
  rfc6750?: boolean;
  /** Proxies whose `Client-Cert` header (RFC 9440) is believed. Default none. */
  proxies?: TrustedProxies;
  /**
   * Finds the client's certificate in place of the connection and of `proxies`, for platforms and proxies with ways of their
   * own. Whatever it reads from a header, it must first make sure of the sender (`peer`).
   */
  certificate?: (request: ProtectedRequest) => CertificateInput | undefined;
}

/** A request as the adapters of the frameworks hand it over. */
export interface ProtectedRequest extends SeenRequest {
  /** All values of a header, by its lower-case name. */
  header(name: string): readonly string[];
  peer: Peer;
}

/** Headers of an answer that depends on credentials: shared caches know only `Authorization` as one (RFC 9111 §3.5). */
export interface AnswerHeaders extends Record<string, string> {
  /** `no-store`. */
  'Cache-Control': string;
  /** The headers of the request that decide. */
  Vary: string;
}

/** A refusal carries the whole answer. */
interface Refused<Headers> {
  kind: 'refused';
  status: number;
  headers: Headers;
  body: ResourceError;
  decision?: Decision;
}

/**
 * What to do with a request. `headers` of an allowed one belong on the answer of the service, which may have a `Cache-Control` of its
 * own and adds to `Vary`.
 */
export type Outcome = { kind: 'allowed'; headers: AnswerHeaders; decision: Decision } | Refused<AnswerHeaders>;

type BareOutcome = { kind: 'allowed'; decision: Decision } | Refused<Record<string, string>>;

const defaultHeaders = ['svc-role-auth', 'athenz-role-auth', 'authorization'] as const;

/**
 * Decides one request; what cannot be understood is refused. Rejects with what `rule` or `certificate` throws, and with
 * `PolicyEngineError('invalid-options')` for `domains` that are none.
 */
export async function authorize(request: ProtectedRequest, options: ProtectOptions): Promise<Outcome> {
  return authorizeBy(new RequestRule(options, options.engine.domains), request, options);
}

/** `authorize` with its rule made ready, for the middleware of a service that has started. */
export function createAuthorizer(options: ProtectOptions): (request: ProtectedRequest) => Promise<Outcome> {
  const rule = new RequestRule(options, options.engine.domains).requireDomains();
  return (request) => authorizeBy(rule, request, options);
}

async function authorizeBy(rule: RequestRule, request: ProtectedRequest, options: ProtectOptions): Promise<Outcome> {
  const outcome = await outcomeBy(rule, request, options);
  const headers = answerHeaders(options);
  if (outcome.kind === 'allowed') return { ...outcome, headers };
  return { ...outcome, headers: { ...headers, ...outcome.headers } };
}

/** The headers that decide; behind proxies `Client-Cert` is one of them (RFC 9440 §2.4). */
function answerHeaders({ tokenHeaders = defaultHeaders, proxies }: ProtectOptions): AnswerHeaders {
  const names = proxies === undefined ? tokenHeaders : [...tokenHeaders, 'client-cert'];
  return { 'Cache-Control': 'no-store', Vary: names.join(', ') };
}

async function outcomeBy(rule: RequestRule, request: ProtectedRequest, options: ProtectOptions): Promise<BareOutcome> {
  const read = rule.read(request);
  if (read.kind === 'refused') return refusal(read.code, read.message);
  const token = findToken(request, options.tokenHeaders ?? defaultHeaders);
  if (token.kind === 'several') return several(options);
  if (token.kind === 'none') return missing(options);
  if (read.kind === 'denied') return denied(options, bareDecision(read.status));
  const certificate = findCertificate(request, options);
  if (certificate.kind === 'malformed') return refusal(400, 'header `client-cert` is malformed');
  const decision = await options.engine.decide({
    token: token.token,
    action: read.asked.action,
    resource: read.asked.resource,
    ...(certificate.kind === 'certificate' && { certificate: certificate.certificate }),
  });
  return decision.status === 'ALLOW' ? { kind: 'allowed', decision } : denied(options, decision);
}

function findCertificate(request: ProtectedRequest, options: ProtectOptions): ClientCertificate {
  if (options.certificate !== undefined) {
    const found = options.certificate(request);
    return found === undefined ? { kind: 'none' } : { kind: 'certificate', certificate: found };
  }
  const isProxy = isTrusted(request.peer, options.proxies);
  const now = (options.clock ?? systemClock).now();
  return clientCertificate(request.peer, single(request.header('client-cert')), isProxy, now);
}

type FoundToken = { kind: 'token'; token: string } | { kind: 'none' } | { kind: 'several' };

/** The one token of a request; the same value twice is one token (docs/reference/protected-services.md#tokens-of-a-request). */
function findToken(request: ProtectedRequest, headers: readonly string[]): FoundToken {
  const values = new Set(headers.flatMap((name) => request.header(name)).map(withoutScheme));
  if (values.size > 1) return { kind: 'several' };
  const [token = ''] = values;
  return token === '' || hasOtherScheme(token) ? { kind: 'none' } : { kind: 'token', token };
}

function withoutScheme(value: string): string {
  return value.replace(/^bearer(?: +|$)/i, '').trim();
}

/** Credentials of another scheme (`Basic …`, `Digest …`) are not a token: RFC 6750 §3.1 has no error for them. */
function hasOtherScheme(value: string): boolean {
  return /^[\w-]+ /.test(value);
}

function single(values: readonly string[]): string | readonly string[] | undefined {
  return values.length > 1 ? values : values[0];
}

function isTrusted(peer: Peer, proxies: TrustedProxies | undefined): boolean {
  if (proxies === undefined) return false;
  if (peer.certificate !== undefined) {
    return proxies.thumbprints?.includes(certificateThumbprint(peer.certificate)) ?? false;
  }
  return peer.address !== undefined && (proxies.addresses?.includes(peer.address) ?? false);
}

/** Statuses that concern the token and not the policy: a new token may help. */
const tokenStatuses: ReadonlySet<Decision['status']> = new Set([
  'DENY_TOKEN_INVALID',
  'DENY_TOKEN_EXPIRED',
  'DENY_CERT_HASH_MISMATCH',
]);

function missing(options: ProtectOptions): BareOutcome {
  return refusal(options.rfc6750 ? 401 : 403, 'a token is required', { 'WWW-Authenticate': 'Bearer' });
}

function several(options: ProtectOptions): BareOutcome {
  const message = 'more than one token was sent';
  return refusal(options.rfc6750 ? 400 : 403, message, { 'WWW-Authenticate': bearer('invalid_request', message) });
}

function denied(options: ProtectOptions, decision: Decision): BareOutcome {
  const isTokenFault = tokenStatuses.has(decision.status);
  const message = isTokenFault ? 'the token is not valid here' : 'access is not granted';
  const challenge = bearer(isTokenFault ? 'invalid_token' : 'insufficient_scope', message);
  const status = options.rfc6750 && isTokenFault ? 401 : 403;
  return { ...refusal(status, message, { 'WWW-Authenticate': challenge }), decision };
}

/** RFC 6750 §3. */
function bearer(error: 'invalid_request' | 'invalid_token' | 'insufficient_scope', description: string): string {
  return `Bearer error="${error}", error_description="${description}"`;
}

function refusal(
  status: number,
  message: string,
  headers: Record<string, string> = {},
): Refused<Record<string, string>> {
  return { kind: 'refused', status, headers, body: { code: status, message } };
}
