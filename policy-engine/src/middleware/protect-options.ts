import { PolicyEngineError } from '../errors.ts';
import { didYouMean } from '../nearest.ts';
import { type Decision, maxActionLength, maxResourceLength } from '../policy/index.ts';
import type { CertificateInput } from '../token/index.ts';
import type { ConnectionOptions } from './connection-certificate.ts';
import type { Peer, TrustedProxies } from './proxy-certificate.ts';
import type { OnRefusal } from './refusal.ts';
import type { RuleOptions, SeenRequest } from './request-rule.ts';

/** Part of the engine that the middleware uses. */
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

/** Options of every middleware. */
export interface ProtectOptions extends RuleOptions, ConnectionOptions {
  engine: Decider;
  /** Headers that may carry the token. Default `svc-role-auth`, `athenz-role-auth` and `authorization`. */
  tokenHeaders?: readonly string[];
  /** Answer 401 and 400 where RFC 6750 §3.1 has them, in place of 403 for everything. Default false. */
  rfc6750?: boolean;
  /** Proxies whose `Client-Cert` header (RFC 9440) is believed. Default none. */
  proxies?: TrustedProxies;
  /**
   * Finds the client's certificate in place of the connection and of `proxies`, for platforms and proxies with ways of their own. Before it
   * trusts a header, it must verify the sender (`peer`).
   */
  certificate?: (request: ProtectedRequest) => CertificateInput | undefined;
  /** Called for every request that is refused, with advice. Default: only the debug log (`NODE_DEBUG=signet`). */
  onRefusal?: OnRefusal;
}

/** A request as the adapters of the frameworks hand it over. */
export interface ProtectedRequest extends SeenRequest {
  /** Values of a header, by its lower-case name. */
  header(name: string): readonly string[];
  peer: Peer;
}

const known: Readonly<Record<keyof ProtectOptions, true>> = {
  engine: true,
  rule: true,
  domains: true,
  caseSensitive: true,
  tokenHeaders: true,
  rfc6750: true,
  proxies: true,
  certificate: true,
  authorities: true,
  clock: true,
  onRefusal: true,
};

type Loose = { readonly [Name in keyof ProtectOptions]?: unknown };

/** The name of a header field (RFC 9110 §5.1). */
const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;

/**
 * Throws `PolicyEngineError('invalid-options')` that names the option which is missing, mistyped or not what it must be: found when the
 * service starts, not by its first request. `more` are options that the adapter itself has.
 */
export function checkProtectOptions(options: unknown, more: readonly string[] = []): void {
  if (typeof options !== 'object' || options === null) throw invalid('options of `protect` must be an object');
  const names = [...Object.keys(known), ...more];
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) throw invalid(`\`${unknown}\` is not an option of protect${didYouMean(unknown, names)}`);
  const { engine, rule, tokenHeaders, rfc6750, caseSensitive, proxies, certificate, onRefusal }: Loose = options;
  if (!hasDecide(engine)) throw invalid('`engine` must be an engine returned by `PolicyEngine.open`');
  checkRule(rule);
  if (tokenHeaders !== undefined && !isHeaderList(tokenHeaders)) {
    throw invalid('`tokenHeaders` must be an array of at least one name of a header');
  }
  for (const [name, value] of Object.entries({ rfc6750, caseSensitive })) {
    if (value !== undefined && typeof value !== 'boolean') throw invalid(`\`${name}\` must be true or false`);
  }
  for (const [name, value] of Object.entries({ certificate, onRefusal })) {
    if (value !== undefined && typeof value !== 'function') throw invalid(`\`${name}\` must be a function`);
  }
  if (proxies !== undefined) checkProxies(proxies);
}

function checkRule(rule: unknown): void {
  if (typeof rule === 'function') return;
  if (typeof rule !== 'object' || rule === null) {
    throw invalid(
      "`rule` must be a function, or an action and resource, such as { action: 'read', resource: 'movie' }",
    );
  }
  const { action, resource }: { action?: unknown; resource?: unknown } = rule;
  checkName('action', action, maxActionLength);
  checkName('resource', resource, maxResourceLength);
}

function checkName(name: string, value: unknown, longest: number): void {
  if (typeof value !== 'string' || value === '') throw invalid(`\`rule.${name}\` must be a string that is not empty`);
  if (value.length > longest) throw invalid(`\`rule.${name}\` must have at most ${longest} characters`);
  if (value.includes('*')) {
    throw invalid(`\`rule.${name}\` must name one ${name}: patterns such as \`${value}\` stand in policy`);
  }
}

function checkProxies(proxies: unknown): void {
  const lists = typeof proxies === 'object' && proxies !== null ? Object.entries(proxies) : undefined;
  const isListed = lists?.every(([name, list]) => ['thumbprints', 'addresses'].includes(name) && isTexts(list));
  if (isListed !== true) throw invalid('`proxies` must be { thumbprints?: string[], addresses?: string[] }');
}

function hasDecide(engine: unknown): boolean {
  return typeof engine === 'object' && engine !== null && 'decide' in engine && typeof engine.decide === 'function';
}

function isHeaderList(value: unknown): boolean {
  return isTexts(value) && value.length > 0 && value.every((name) => headerName.test(name));
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function invalid(message: string): PolicyEngineError {
  return new PolicyEngineError('invalid-options', message);
}
