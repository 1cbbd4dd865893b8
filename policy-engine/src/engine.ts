import { type Clock, systemClock } from './clock.ts';
import { Thumbprints } from './engine/binding.ts';
import { decideInSet, type PolicySet } from './engine/policy-set.ts';
import { readRoleCertificate } from './engine/role-certificate.ts';
import { PolicyEngineError } from './errors.ts';
import { type KeySource, staticKeys } from './keys/index.ts';
import { type EngineHealth, healthOf } from './loader/health.ts';
import { type DirectoryOptions, PolicyDirectory } from './loader/policy-directory.ts';
import { parseDomainName } from './names/index.ts';
import { bareDecision } from './policy/decide.ts';
import { compileDomain, type Decision, type DecisionContext, type PolicyInput } from './policy/index.ts';
import type { VerifiedAccessToken } from './token/claims.ts';
import type { CertificateInput } from './token/thumbprint.ts';
import { TokenCache } from './token/token-cache.ts';
import { isExpired, type VerifyAccessTokenOptions, verifyAccessToken, withoutScheme } from './token/verify.ts';
import type { JwkList } from './wire/index.ts';

/** Options that every engine has. */
export interface EngineOptions {
  /** Keys that verify tokens and bundles. Default: those of `<policyDir>/keys.json`; none for `fromDomains`. */
  keys?: KeySource | JwkList;
  /** Trusted issuers, compared exactly. Default: the one of `<policyDir>/keys.json`; none for `fromDomains`. */
  issuers?: readonly string[];
  /** Default: the clock of the machine. */
  clock?: Clock;
  /** Refuse tokens that are bound to no certificate. Default true. */
  requireBound?: boolean;
  /** How far ahead of the own clock `nbf` and `iat` may be, in seconds. Default 60; the expiry has no allowance. */
  skewSeconds?: number;
  /** Also accept tokens with `typ` `JWT` or none. Default false: only `at+jwt` (RFC 9068 §2.1). */
  legacyTypes?: boolean;
  /** How many verified tokens are kept. Default 10,000; 0 keeps none. */
  maxCachedTokens?: number;
}

/** Options of an engine that reads signed policy from a directory. */
export interface OpenOptions extends EngineOptions, DirectoryOptions {}

/** A request with a token. */
export interface DecideRequest {
  /** The token, or a header value with `Bearer` in front; several are decided as decision 34 says. */
  token: string | readonly string[];
  action: string;
  /** `domain:entity`, or `entity` alone for the domain of the token. */
  resource: string;
  /** The client certificate of the connection. A bound token counts only with its certificate. */
  certificate?: CertificateInput | null | undefined;
  /** What the service says of itself, for assertions with conditions. */
  context?: DecisionContext;
}

/** A request for roles that the caller has established by itself. */
export interface DecideRolesRequest {
  domain: string;
  /** Short names. */
  roles: readonly string[];
  action: string;
  resource: string;
  context?: DecisionContext;
}

/** A request with a role certificate (common name `domain:role.name`) whose chain the TLS layer has verified. */
export interface DecideRoleCertificateRequest {
  certificate: CertificateInput | null | undefined;
  action: string;
  resource: string;
  /** Distinguished names of accepted issuers. Default: every issuer that the TLS layer accepts. */
  issuers?: readonly string[];
  context?: DecisionContext;
}

interface EngineParts {
  readonly options: EngineOptions;
  readonly keys: KeySource;
  readonly issuers: () => readonly string[];
  readonly set: PolicySet;
}

/** Decides locally, from policy held in memory. Whatever it is asked, it answers a status and never throws. */
export class PolicyEngine implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #keys: KeySource;
  readonly #issuers: () => readonly string[];
  readonly #requireBound: boolean;
  readonly #tokenOptions: Pick<VerifyAccessTokenOptions, 'skewSeconds' | 'legacyTypes'>;
  readonly #cache: TokenCache;
  readonly #thumbprints = new Thumbprints();
  #set: PolicySet;
  #directory: PolicyDirectory | undefined;

  private constructor(parts: EngineParts) {
    const { options } = parts;
    this.#clock = options.clock ?? systemClock;
    this.#keys = parts.keys;
    this.#issuers = parts.issuers;
    this.#requireBound = options.requireBound ?? true;
    this.#tokenOptions = { skewSeconds: options.skewSeconds ?? 60, legacyTypes: options.legacyTypes ?? false };
    this.#cache = new TokenCache(options.maxCachedTokens ?? 10_000);
    this.#set = parts.set;
  }

  /**
   * Opens a directory of signed bundles (`<domain>.pol`), verifies and loads what is there, and follows every change. Nothing
   * that it starts keeps the process alive. Bad bundles do not stop it; see `health()`.
   * Throws `PolicyEngineError`: `invalid-options` without an issuer, `keys-unavailable` without keys.
   */
  static async open(options: OpenOptions): Promise<PolicyEngine> {
    const given = options.keys === undefined ? undefined : keySource(options.keys);
    const directory = await PolicyDirectory.open(options, given);
    const issuers = options.issuers;
    const engine = new PolicyEngine({
      options,
      keys: given ?? directory.keys,
      issuers: issuers === undefined ? () => directory.issuers : () => issuers,
      set: directory.set,
    });
    engine.#directory = directory;
    directory.onChange((set) => {
      engine.#set = set;
    });
    if (engine.#issuers().length > 0) return engine;
    await engine.close();
    throw new PolicyEngineError('invalid-options', 'no issuer is trusted: give `issuers`, or keys.json with one');
  }

  /**
   * An engine over unsigned policies in memory, for tests, measurements and simulations. The policies never expire.
   * Throws `PolicyEngineError`: `invalid-name` for a domain, `bundle-malformed` for a policy.
   */
  static fromDomains(
    domains: Readonly<Record<string, readonly PolicyInput[]>> | ReadonlyMap<string, readonly PolicyInput[]>,
    options: EngineOptions = {},
  ): PolicyEngine {
    const set = new Map<string, { policy: ReturnType<typeof compileDomain>; expires: number }>();
    for (const [name, policies] of domains instanceof Map ? domains : Object.entries(domains)) {
      const domain = parseDomainName(name);
      set.set(domain, { policy: compileDomain(domain, policies), expires: Number.POSITIVE_INFINITY });
    }
    const issuers = options.issuers ?? [];
    const keys = keySource(options.keys ?? { keys: [] });
    return new PolicyEngine({ options, keys, issuers: () => issuers, set });
  }

  /** Decides whether the token lets its holder do the action on the resource. Resolves always. */
  decide(request: DecideRequest): Promise<Decision> {
    try {
      const { token } = request;
      if (typeof token === 'string') return this.#decideToken(token, request);
      return Array.isArray(token) ? this.#decideSeveral(token, request) : settled('DENY_TOKEN_INVALID');
    } catch {
      return settled('DENY_INVALID_PARAMETERS');
    }
  }

  /** Decides for roles without a token. Never throws. */
  decideRoles(request: DecideRolesRequest): Decision {
    try {
      const { domain, roles, action, resource, context } = request;
      if (!Array.isArray(roles) || !roles.every((role) => typeof role === 'string')) {
        return bareDecision('DENY_TOKEN_INVALID');
      }
      return decideInSet(this.#set, domain, roles, action, resource, this.#clock.now(), context);
    } catch {
      return bareDecision('DENY_INVALID_PARAMETERS');
    }
  }

  /** Decides for the role that a role certificate names. Never throws. */
  decideRoleCertificate(request: DecideRoleCertificateRequest): Decision {
    try {
      const { action, resource, context } = request;
      const now = this.#clock.now();
      const read = readRoleCertificate(request.certificate, now, request.issuers);
      if (read.kind === 'refused') return bareDecision(read.status);
      return decideInSet(this.#set, read.domain, [read.role], action, resource, now, context);
    } catch {
      return bareDecision('DENY_INVALID_PARAMETERS');
    }
  }

  /** What is in force, how old it is, and what went wrong. */
  health(): EngineHealth {
    return healthOf(this.#set, this.#directory, this.#clock.now());
  }

  /** Looks at the policy directory now, without waiting for an event, and resolves when what is there is in force. */
  async refresh(): Promise<void> {
    await this.#directory?.scan();
  }

  /** Stops following the directory. Decisions go on from what was loaded, until it expires. */
  async close(): Promise<void> {
    await this.#directory?.close();
    this.#cache.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #decideToken(value: string, request: DecideRequest): Promise<Decision> {
    const text = withoutScheme(value);
    const token = this.#cache.get(text, this.#clock.now(), this.#keys.revision);
    if (token === undefined) return this.#verifyAndDecide(text, request);
    return Promise.resolve(this.#decideVerified(token, request));
  }

  async #verifyAndDecide(text: string, request: DecideRequest): Promise<Decision> {
    try {
      const { revision } = this.#keys;
      const now = this.#clock.now();
      const options = { ...this.#tokenOptions, keys: this.#keys, issuers: this.#issuers(), now };
      const outcome = await verifyAccessToken(text, options);
      if (outcome.kind === 'invalid') return bareDecision('DENY_TOKEN_INVALID');
      if (outcome.kind === 'expired') return bareDecision('DENY_TOKEN_EXPIRED');
      this.#cache.set(text, outcome.token, now, revision);
      return this.#decideVerified(outcome.token, request);
    } catch {
      return bareDecision('DENY_INVALID_PARAMETERS');
    }
  }

  /** Everything that can change between two uses of one token is checked at each use. */
  #decideVerified(token: VerifiedAccessToken, request: DecideRequest): Decision {
    const now = this.#clock.now();
    if (isExpired(token, now)) return bareDecision('DENY_TOKEN_EXPIRED');
    const { thumbprint } = token;
    const isHeld =
      thumbprint === undefined ? !this.#requireBound : this.#thumbprints.matches(request.certificate, thumbprint);
    if (!isHeld) return bareDecision('DENY_CERT_HASH_MISMATCH');
    return decideInSet(this.#set, token.domain, token.roles, request.action, request.resource, now, request.context);
  }

  /** A DENY of any token wins, else an ALLOW of any, else the status of the last (decision 34). */
  async #decideSeveral(tokens: readonly unknown[], request: DecideRequest): Promise<Decision> {
    let allowed: Decision | undefined;
    let last = bareDecision('DENY_NO_MATCH');
    for (const token of tokens) {
      last = typeof token === 'string' ? await this.#decideToken(token, request) : bareDecision('DENY_TOKEN_INVALID');
      if (last.status === 'DENY') return last;
      if (last.status === 'ALLOW') allowed ??= last;
    }
    return allowed ?? last;
  }
}

function settled(status: Decision['status']): Promise<Decision> {
  return Promise.resolve(bareDecision(status));
}

function keySource(keys: KeySource | JwkList): KeySource {
  return 'find' in keys ? keys : staticKeys(keys);
}
