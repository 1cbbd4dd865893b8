import { systemClock } from '../clock.ts';
import { bareDecision } from '../policy/decide.ts';
import type { Decision } from '../policy/index.ts';
import { parseAddress } from '../policy/ip-address.ts';
import { certificateThumbprint } from '../token/index.ts';
import type { ResourceError } from '../wire/index.ts';
import { checkProtectOptions, type ProtectedRequest, type ProtectOptions } from './protect-options.ts';
import {
  type ClientCertificate,
  certificateProblems,
  clientCertificate,
  type Peer,
  type TrustedProxies,
} from './proxy-certificate.ts';
import { reportRefusal } from './refusal.ts';
import { RequestRule, type RequiredAccess } from './request-rule.ts';

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
 * Result for a request. `headers` of an allowed one belong on the answer of the service, which may have a `Cache-Control` of its own and adds to
 * `Vary`.
 */
export type Outcome = { kind: 'allowed'; headers: AnswerHeaders; decision: Decision } | Refused<AnswerHeaders>;

/** `asked` and `hint` are for the service alone. */
type BareOutcome = (
  | { kind: 'allowed'; decision: Decision }
  | (Refused<Record<string, string>> & { readonly hint?: string })
) & { readonly asked?: RequiredAccess };

/** Advice about requests, beside that of the status. */
const hints = {
  400: 'the path could be read in another way by the router: callers must send its canonical form',
  404: 'the rule has no answer for it: cover it in the rule, or leave `protect` out in front of it',
  several: 'the caller must send one token in one header',
  connection:
    'the caller must connect with the certificate of its token, and the service must ask for one (`requestCert`); behind a proxy see `proxies`',
  certificate: 'the proxy must send the certificate as RFC 9440 has it: base64 of its DER between colons',
};

const defaultHeaders = ['svc-role-auth', 'athenz-role-auth', 'authorization'] as const;

/**
 * Decides one request; what cannot be understood is refused. Rejects with what `rule` or `certificate` throws, and with
 * `PolicyEngineError('invalid-options')` for `domains` that are none.
 */
export async function authorize(request: ProtectedRequest, options: ProtectOptions): Promise<Outcome> {
  return authorizeBy(new RequestRule(options, options.engine.domains), request, options);
}

/**
 * `authorize` with its rule made ready, for the middleware of a service that starts; `more` are options of the adapter. Throws
 * `PolicyEngineError('invalid-options')` for options that are not what they must be.
 */
export function createAuthorizer(
  options: ProtectOptions,
  more: readonly string[] = [],
): (request: ProtectedRequest) => Promise<Outcome> {
  checkProtectOptions(options, more);
  const rule = new RequestRule(options, options.engine.domains).requireDomains();
  const { tokenHeaders } = options;
  const lower = tokenHeaders?.map((name) => name.toLowerCase());
  const ready = lower === undefined ? options : { ...options, tokenHeaders: lower };
  return (request) => authorizeBy(rule, request, ready);
}

async function authorizeBy(rule: RequestRule, request: ProtectedRequest, options: ProtectOptions): Promise<Outcome> {
  const { asked, ...outcome } = await outcomeBy(rule, request, options);
  const headers = answerHeaders(options);
  if (outcome.kind === 'allowed') return { ...outcome, headers };
  const { hint, ...refused } = outcome;
  const { method, target, route } = request;
  const { status, decision, body } = refused;
  reportRefusal(options.onRefusal, {
    method,
    target,
    status,
    message: body.message,
    ...(route !== undefined && { route }),
    ...(asked !== undefined && { asked }),
    ...(decision !== undefined && { decision }),
    ...(hint !== undefined && { hint }),
  });
  return { ...refused, headers: { ...headers, ...refused.headers } };
}

/** The headers that decide; behind proxies `Client-Cert` is one of them (RFC 9440 §2.4). */
function answerHeaders({ tokenHeaders = defaultHeaders, proxies }: ProtectOptions): AnswerHeaders {
  const names = proxies === undefined ? tokenHeaders : [...tokenHeaders, 'client-cert'];
  return { 'Cache-Control': 'no-store', Vary: names.join(', ') };
}

async function outcomeBy(rule: RequestRule, request: ProtectedRequest, options: ProtectOptions): Promise<BareOutcome> {
  const read = rule.read(request);
  if (read.kind === 'refused') return { ...refusal(read.code, read.message), hint: hints[read.code] };
  const token = findToken(request, options.tokenHeaders ?? defaultHeaders);
  if (token.kind === 'several') return several(options);
  if (token.kind === 'none') return missing(options);
  if (read.kind === 'denied') return denied(options, bareDecision(read.status));
  const certificate = findCertificate(request, options);
  if (certificate.kind === 'malformed') {
    return { ...refusal(400, 'header `client-cert` is malformed'), hint: hints.certificate };
  }
  const { asked } = read;
  const decision = await options.engine.decide({
    token: token.token,
    action: asked.action,
    resource: asked.resource,
    ...(certificate.kind === 'certificate' && { certificate: certificate.certificate }),
  });
  if (decision.status === 'ALLOW') return { kind: 'allowed', decision };
  const { kind } = certificate;
  return { ...denied(options, decision, kind === 'certificate' ? undefined : certificateProblems[kind]), asked };
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
  const { address } = peer;
  return address !== undefined && (proxies.addresses?.some((one) => isSameAddress(one, address)) ?? false);
}

/** A socket that serves both families names `192.0.2.1` as `::ffff:192.0.2.1`. */
function isSameAddress(one: string, other: string): boolean {
  if (one === other) return true;
  const words = parseAddress(one);
  return words !== undefined && words.join() === parseAddress(other)?.join();
}

/** Statuses that concern the token and not the policy: a new token may help. */
const tokenStatuses: ReadonlySet<Decision['status']> = new Set([
  'DENY_TOKEN_INVALID',
  'DENY_TOKEN_EXPIRED',
  'DENY_CERT_HASH_MISMATCH',
]);

function missing(options: ProtectOptions): BareOutcome {
  const names = (options.tokenHeaders ?? defaultHeaders).map((name) => `\`${name}\``).join(', ');
  const hint = `the caller must send its token in one of the headers ${names}`;
  return { ...refusal(options.rfc6750 ? 401 : 403, 'a token is required', { 'WWW-Authenticate': 'Bearer' }), hint };
}

function several(options: ProtectOptions): BareOutcome {
  const message = 'more than one token was sent';
  const challenge = { 'WWW-Authenticate': bearer('invalid_request', message) };
  return { ...refusal(options.rfc6750 ? 400 : 403, message, challenge), hint: hints.several };
}

/** `without`: why the connection has no certificate. */
function denied(options: ProtectOptions, decision: Decision, without?: string): BareOutcome {
  const isTokenFault = tokenStatuses.has(decision.status);
  const problem = decision.status === 'DENY_CERT_HASH_MISMATCH' ? without : undefined;
  const message = problem ?? (isTokenFault ? 'the token is not valid here' : 'access is not granted');
  const challenge = bearer(isTokenFault ? 'invalid_token' : 'insufficient_scope', message);
  const status = options.rfc6750 && isTokenFault ? 401 : 403;
  const answer = refusal(status, message, { 'WWW-Authenticate': challenge });
  return { ...answer, decision, ...(problem !== undefined && { hint: `${problem}: ${hints.connection}` }) };
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
