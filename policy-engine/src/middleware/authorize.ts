import type { Decision } from '../policy/index.ts';
import { type CertificateInput, certificateThumbprint } from '../token/index.ts';
import type { ResourceError } from '../wire/index.ts';
import { canonicalPath } from './canonical-path.ts';
import { type ClientCertificate, clientCertificate, type Peer, type TrustedProxies } from './proxy-certificate.ts';

/** What the middleware needs of an engine. */
export interface Decider {
  decide(request: {
    token: string;
    action: string;
    resource: string;
    certificate?: CertificateInput;
  }): Promise<Decision>;
}

/** What a rule sees of a request. */
export interface RuleInput {
  /** As sent, e.g. `GET`. */
  method: string;
  /** The canonical path: decoded once, no trailing `/`. */
  path: string;
}

/** What a request asks for in the language of policy. */
export interface Asked {
  action: string;
  /** `domain:entity`. */
  resource: string;
}

/** How requests are let through or refused; every middleware takes these. */
export interface ProtectOptions {
  engine: Decider;
  /** From a request to what it asks for. `undefined`: no rule covers it, so it is refused as an unknown endpoint (404). */
  rule: (request: RuleInput) => Asked | undefined;
  /** Headers that may carry the token. Default `svc-role-auth` and `authorization`. */
  tokenHeaders?: readonly string[];
  /** Answer 401 and the error codes of RFC 6750 §3.1 in place of 403 for everything. Default false. */
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
export interface ProtectedRequest {
  method: string;
  /** Path and query as received, not decoded. */
  target: string;
  /** All values of a header, by its lower-case name. */
  header(name: string): readonly string[];
  peer: Peer;
}

/** What to do with a request. A refusal carries the whole answer. */
export type Outcome =
  | { kind: 'allowed'; decision: Decision }
  | { kind: 'refused'; status: number; headers: Record<string, string>; body: ResourceError; decision?: Decision };

const defaultHeaders = ['svc-role-auth', 'authorization'] as const;

/** Decides one request; what cannot be understood is refused. Rejects only with what `rule` or `certificate` throws. */
export async function authorize(request: ProtectedRequest, options: ProtectOptions): Promise<Outcome> {
  const path = canonicalPath(request.target);
  if (path === undefined) return refusal(400, 'path is not in canonical form');
  const asked = options.rule({ method: request.method, path });
  if (asked === undefined) return refusal(404, 'unknown endpoint');
  const token = findToken(request, options.tokenHeaders ?? defaultHeaders);
  if (token.kind === 'several') return options.rfc6750 ? badRequest() : denied(options, undefined);
  if (token.kind === 'none') return missing(options);
  const certificate = findCertificate(request, options);
  if (certificate.kind === 'malformed') return refusal(400, 'header `client-cert` is malformed');
  const decision = await options.engine.decide({
    token: token.token,
    ...asked,
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
  return clientCertificate(request.peer, single(request.header('client-cert')), isProxy);
}

type FoundToken = { kind: 'token'; token: string } | { kind: 'none' } | { kind: 'several' };

/** The one token of a request; the same value twice is one token (decision 30). */
function findToken(request: ProtectedRequest, headers: readonly string[]): FoundToken {
  const values = new Set(headers.flatMap((name) => request.header(name)).map(withoutScheme));
  if (values.size > 1) return { kind: 'several' };
  for (const token of values) return { kind: 'token', token };
  return { kind: 'none' };
}

function withoutScheme(value: string): string {
  return value.replace(/^bearer +/i, '').trim();
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

/** Statuses that speak of the token and not of the policy: a new token may help. */
const tokenStatuses: ReadonlySet<Decision['status']> = new Set([
  'DENY_TOKEN_INVALID',
  'DENY_TOKEN_EXPIRED',
  'DENY_CERT_HASH_MISMATCH',
]);

function missing(options: ProtectOptions): Outcome {
  return refusal(options.rfc6750 ? 401 : 403, 'a token is required', { 'WWW-Authenticate': 'Bearer' });
}

function badRequest(): Outcome {
  return refusal(400, 'more than one token was sent', { 'WWW-Authenticate': 'Bearer error="invalid_request"' });
}

function denied(options: ProtectOptions, decision: Decision | undefined): Outcome {
  const isTokenFault = decision === undefined || tokenStatuses.has(decision.status);
  const challenge = isTokenFault ? 'Bearer error="invalid_token"' : 'Bearer error="insufficient_scope"';
  const status = options.rfc6750 && isTokenFault ? 401 : 403;
  const headers = isTokenFault || options.rfc6750 ? { 'WWW-Authenticate': challenge } : {};
  const outcome = refusal(status, isTokenFault ? 'the token is not valid here' : 'access is not granted', headers);
  return decision === undefined ? outcome : { ...outcome, decision };
}

function refusal(status: number, message: string, headers: Record<string, string> = {}): Outcome & { kind: 'refused' } {
  return { kind: 'refused', status, headers, body: { code: status, message } };
}
