import { systemClock } from './clock.ts';
import { allowedOf, decideEach } from './engine/decide-many.ts';
import {
  type CredentialChange,
  describeToken,
  type Explanation,
  explainInSet,
  explainUnserved,
  explanation,
} from './engine/explanation.ts';
import { type Meter, metered, meteredLater, tellDropped } from './engine/meter.ts';
import { checkOpenOptions } from './engine/open-options.ts';
import {
  decideInSet,
  type LoadedDomain,
  PolicyLookUp,
  type PolicySet,
  type RequestedAccess,
} from './engine/policy-set.ts';
import { type Holder, recordOf } from './engine/record-of.ts';
import type {
  DecideRequest,
  DecideRoleCertificateRequest,
  DecideRolesRequest,
  EngineOptions,
  FilterRequest,
  FilterRolesRequest,
  OpenOptions,
} from './engine/requests.ts';
import { readRoleCertificate } from './engine/role-certificate.ts';
import { TokenAuthenticator } from './engine/token-authenticator.ts';
import { PolicyEngineError } from './errors.ts';
import { type KeySource, keySource, type OpenedKeys } from './keys/index.ts';
import { type EngineHealth, healthOf } from './loader/health.ts';
import { openKeys } from './loader/open-keys.ts';
import { PolicyDirectories } from './loader/policy-directories.ts';
import { parseDomainName } from './names/index.ts';
import { reportFault } from './on-error.ts';
import { bareDecision } from './policy/decide.ts';
import {
  compileDomain,
  type Decision,
  type DomainPolicy,
  type PolicyInput,
  type Status,
  withoutCertificate,
} from './policy/index.ts';
import { DecisionRecorder } from './records/decision-recorder.ts';
import { ServedDomains } from './served-domains.ts';
import { type SteadyClock, steadyClock } from './steady-clock.ts';
import type { VerifiedAccessToken } from './token/claims.ts';
import { checkTokenRules } from './token/token-rules.ts';
import { type TokenOutcome, withoutScheme } from './token/verify.ts';

interface EngineParts {
  readonly options: Omit<EngineOptions, 'keys' | 'clock'>;
  readonly clock: SteadyClock;
  readonly keys: KeySource;
  readonly issuers: () => readonly string[];
  readonly served: ServedDomains;
  readonly set: PolicySet;
}

/** Engine that decides locally, from policy held in memory. Every call returns a status and never throws. */
export class PolicyEngine implements AsyncDisposable, Disposable {
  readonly #clock: SteadyClock;
  readonly #keys: KeySource;
  readonly #authenticator: TokenAuthenticator;
  readonly #recorder: DecisionRecorder | undefined;
  readonly #meter: Meter | undefined;
  readonly #served: ServedDomains;
  readonly #listener: Pick<EngineOptions, 'onError'>;
  #policies: PolicyLookUp;
  #directory: PolicyDirectories | undefined;
  #openedKeys: OpenedKeys | undefined;

  private constructor({ options, clock, keys, issuers, served, set }: EngineParts) {
    checkTokenRules(options);
    this.#clock = clock;
    this.#keys = keys;
    this.#authenticator = new TokenAuthenticator({
      keys,
      issuers,
      requireBound: options.requireBound ?? true,
      skewSeconds: options.skewSeconds ?? 60,
      legacyTypes: options.legacyTypes ?? false,
      roleInAudience: options.roleInAudience ?? false,
      maxTokenLifeSeconds: options.maxTokenLifeSeconds,
      maxCachedTokens: options.maxCachedTokens ?? 10_000,
    });
    this.#meter = options.meter;
    this.#recorder =
      options.records &&
      new DecisionRecorder(options.records, (reason, count) => tellDropped(options.meter, reason, count));
    this.#served = served;
    this.#listener = options;
    this.#policies = new PolicyLookUp(set);
  }

  /**
   * Opens directories of signed bundles (`<domain>.pol`), verifies and loads what is there, and follows every change. Nothing
   * that it starts keeps the process alive. Bad bundles do not stop it; see `health()`.
   * Throws `PolicyEngineError`: `invalid-options` without an issuer, for `domains` that are none and for options that do not exist, `keys-unavailable` without
   * keys, `keys-malformed`.
   */
  static async open(options: OpenOptions): Promise<PolicyEngine> {
    checkOpenOptions(options);
    const { keys, issuers, minRsaBits, athenzBundles } = options;
    const served = new ServedDomains(options.domains);
    const clock = steadyClock(options.clock ?? systemClock);
    const opened = keys === undefined ? undefined : await openKeys(keys, clock, { minRsaBits });
    const directory = await PolicyDirectories.open({ ...options, clock }, opened?.source).catch((error: unknown) => {
      opened?.close();
      throw error;
    });
    const engine = new PolicyEngine({
      // Tokens of an Athenz server may name their role so.
      options: athenzBundles === true ? { roleInAudience: true, ...options } : options,
      clock,
      keys: opened?.source ?? directory.keys,
      issuers: issuers === undefined ? () => directory.issuers : () => issuers,
      served,
      set: directory.bundles,
    });
    engine.#openedKeys = opened;
    engine.#directory = directory;
    directory.onChange((set) => {
      engine.#policies = new PolicyLookUp(set);
    });
    directory.onIssuerChange(() => engine.#authenticator.clear());
    if ((issuers ?? directory.issuers).length > 0) return engine;
    await engine.close();
    throw new PolicyEngineError('invalid-options', 'no issuer is trusted: give `issuers`, or keys.json with one');
  }

  /**
   * An engine over unsigned policies in memory, for tests, measurements and simulations. The policies never expire.
   * Throws `PolicyEngineError`: `invalid-name` for a domain, `bundle-malformed` for a policy, `invalid-options` for `domains` of
   * the options that are none.
   */
  static fromDomains(
    domains: Readonly<Record<string, readonly PolicyInput[]>> | ReadonlyMap<string, readonly PolicyInput[]>,
    options: EngineOptions = {},
  ): PolicyEngine {
    const set = new Map<string, LoadedDomain>();
    for (const [name, policies] of domains instanceof Map ? domains : Object.entries(domains)) {
      const domain = parseDomainName(name);
      set.set(domain, { policy: compileDomain(domain, policies), expires: Number.POSITIVE_INFINITY });
    }
    const issuers = options.issuers ?? [];
    const keys = keySource(options.keys ?? { keys: [] }, { minRsaBits: options.minRsaBits });
    const clock = steadyClock(options.clock ?? systemClock);
    const served = new ServedDomains(options.domains);
    return new PolicyEngine({ options, clock, keys, issuers: () => issuers, served, set });
  }

  /** The domains that this engine was told its service serves; `undefined` when it was told none. */
  get domains(): readonly string[] | undefined {
    return this.#served.names;
  }

  /** Decides whether the token lets its holder do the action on the resource. Resolves always. */
  decide(request: DecideRequest): Promise<Decision> {
    const meter = this.#meter;
    return meter === undefined ? this.#decide(request) : this.#meteredTokens(meter, request);
  }

  /** Decides for roles without a token. Never throws. */
  decideRoles(request: DecideRolesRequest): Decision {
    const meter = this.#meter;
    return meter === undefined ? this.#decideRoles(request) : this.#meteredRoles(meter, request);
  }

  /**
   * Decides like `decide` for each request, in order; each token is verified once. Yields to other work in between. Always resolves: more than
   * 10,000 requests are all answered `DENY_INVALID_PARAMETERS`, and `onError` is called.
   */
  async decideMany(requests: readonly DecideRequest[]): Promise<Decision[]> {
    try {
      return await decideEach([...requests], this.#decidingOnce());
    } catch (error) {
      const denied = this.#failed('decideMany', error);
      return Array.isArray(requests) ? requests.map(() => denied) : [];
    }
  }

  /**
   * Resources on which the token lets its holder do the action, in their order: bounds and verification are those of `decideMany`. Always
   * resolves; a failed call allows none.
   */
  async filter(request: FilterRequest): Promise<string[]> {
    try {
      const { resources, ...asked } = request;
      const decide = this.#decidingOnce();
      return await allowedOf(resources, (resource) => decide({ ...asked, resource }));
    } catch (error) {
      this.#failed('filter', error);
      return [];
    }
  }

  /** Resources on which the roles, without a token, allow the action; like `filter`. Always resolves. */
  async filterRoles(request: FilterRolesRequest): Promise<string[]> {
    try {
      const { resources, ...asked } = request;
      return await allowedOf(resources, (resource) => this.decideRoles({ ...asked, resource }));
    } catch (error) {
      this.#failed('filterRoles', error);
      return [];
    }
  }

  /** Decides for the role that a role certificate of one of the given authorities names. Never throws. */
  decideRoleCertificate(request: DecideRoleCertificateRequest): Decision {
    const meter = this.#meter;
    if (meter === undefined) return this.#decideRoleCertificate(request);
    return metered(meter, () => this.#decideRoleCertificate(request));
  }

  #decide(request: DecideRequest): Promise<Decision> {
    try {
      const { token } = request;
      if (typeof token === 'string') return this.#decideToken(token, request);
      if (Array.isArray(token)) {
        return this.#decideSeveral(token, request).catch((error: unknown) => this.#failed('decide', error));
      }
      return Promise.resolve(this.#refuse('DENY_TOKEN_INVALID', request));
    } catch (error) {
      return Promise.resolve(this.#failed('decide', error));
    }
  }

  #decideRoles(request: DecideRolesRequest): Decision {
    try {
      const { domain, roles } = request;
      if (!areStrings(roles)) return this.#refuse('DENY_TOKEN_INVALID', request);
      const decision = decideInSet(this.#policies, domain, roles, request, this.#clock);
      return this.#recorder === undefined ? decision : this.#recorded(decision, request, { domain, roles });
    } catch (error) {
      return this.#failed('decideRoles', error);
    }
  }

  /** This one and the next are apart from their callers, who would make room for a closure at each call. */
  #meteredTokens(meter: Meter, request: DecideRequest): Promise<Decision> {
    return meteredLater(meter, () => this.#decide(request));
  }

  #meteredRoles(meter: Meter, request: DecideRolesRequest): Decision {
    return metered(meter, () => this.#decideRoles(request));
  }

  #decideRoleCertificate(request: DecideRoleCertificateRequest): Decision {
    try {
      const asked = askedOf(request);
      const now = this.#clock.now();
      const read = readRoleCertificate(request.certificate, now, request.authorities);
      if (read.kind === 'refused') return this.#refuse(read.status, request);
      const holder = { domain: read.domain, roles: [read.role] };
      return this.#recorded(this.#decideHeld(holder, asked, now), request, holder);
    } catch (error) {
      return this.#failed('decideRoleCertificate', error);
    }
  }

  /** Decision of `decide` for one token with the reasons. Meant for people and tools: it looks at every assertion. Never throws. */
  async explain(request: DecideRequest & { token: string }): Promise<Explanation> {
    try {
      const { action, resource, context } = request;
      const asked = { roles: [], action, resource };
      const now = this.#clock.now();
      const outcome = await this.#authenticator.verify(withoutScheme(request.token), now);
      if (outcome.kind === 'invalid') {
        return explanation('DENY_TOKEN_INVALID', asked, { token: { fault: outcome.fault } });
      }
      const { token } = outcome;
      const refusal = this.#authenticator.refusal(token, request.certificate, now);
      const { domain, roles } = token;
      const explained =
        explainUnserved(this.#served, { domain, roles, action, resource }) ??
        explainInSet(this.#policies.set, { domain, roles, action, resource, context, now });
      const described = { ...explained, token: describeToken(token) };
      if (refusal === undefined) return described;
      const refused = explanation(refusal, explained.request, {
        ...described,
        changes: [credentialChange(refusal, token), ...explained.changes],
      });
      const isWithout = refusal === 'DENY_CERT_HASH_MISMATCH' && (request.certificate ?? undefined) === undefined;
      return isWithout ? { ...refused, meaning: withoutCertificate } : refused;
    } catch (error) {
      return explanation(this.#failed('explain', error).status, nothingAsked, {});
    }
  }

  /** Decision of `decideRoles` with the reasons. Never throws. */
  explainRoles(request: DecideRolesRequest): Explanation {
    try {
      const { domain, roles, action, resource, context } = request;
      return explainInSet(this.#policies.set, { domain, roles, action, resource, context, now: this.#clock.now() });
    } catch (error) {
      return explanation(this.#failed('explainRoles', error).status, nothingAsked, {});
    }
  }

  /** State of the engine: the bundles in force, their age, and errors. Not `ok` while a served domain has no policy. */
  health(): EngineHealth {
    const { leftOut = [] } = this.#keys;
    const health = healthOf({
      set: this.#policies.set,
      directory: this.#directory,
      records: this.#recorder?.counts,
      clock: this.#clock,
      served: this.#served,
    });
    return leftOut.length === 0 ? health : { ...health, keysLeftOut: leftOut };
  }

  /** Looks at the policy directory now, without waiting for an event, and resolves when what is there is in force. */
  async refresh(): Promise<void> {
    await this.#directory?.scan();
  }

  /** The compiled policy of a domain that is in force, for tools; `undefined` when there is none. It never changes. */
  policyOf(domain: string): DomainPolicy | undefined {
    return this.#policies.set.get(domain)?.policy;
  }

  /** Stops following directory and keys and writes the records that wait. Decisions go on until the policies expire. */
  async close(): Promise<void> {
    this.#openedKeys?.close();
    await this.#directory?.close();
    this.#authenticator.clear();
    await this.#recorder?.flush();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** `close` for those who need not wait for its end. */
  [Symbol.dispose](): void {
    void this.close();
  }

  /** Decision for a call that failed inside: arguments that no type allows, or a fault of the engine. */
  #failed(call: string, cause: unknown): Decision {
    const error = new PolicyEngineError('request-failed', `\`${call}\` failed and was denied`, { cause });
    reportFault(this.#listener, error, call);
    return bareDecision('DENY_INVALID_PARAMETERS');
  }

  #decideToken(value: string, request: DecideRequest): Promise<Decision> {
    const text = withoutScheme(value);
    const now = this.#clock.now();
    const token = this.#authenticator.known(text, now);
    if (token === undefined) return this.#verifyAndDecide(text, request);
    return Promise.resolve(this.#decideVerified(token, request, now));
  }

  async #verifyAndDecide(text: string, request: DecideRequest): Promise<Decision> {
    try {
      const outcome = await this.#authenticator.verify(text, this.#clock.now());
      if (outcome.kind === 'invalid') return this.#refuse('DENY_TOKEN_INVALID', request);
      return this.#decideVerified(outcome.token, request, this.#clock.now());
    } catch (error) {
      return this.#failed('decide', error);
    }
  }

  /** Decides as `decide`, and verifies each token once, also one that is not kept. */
  #decidingOnce(): (request: DecideRequest) => Promise<Decision> {
    const outcomes = new Map<string, TokenOutcome>();
    const meter = this.#meter;
    const decide = (request: DecideRequest) => this.#decideOnce(request, outcomes);
    return meter === undefined ? decide : (request) => meteredLater(meter, () => decide(request));
  }

  async #decideOnce(request: DecideRequest, outcomes: Map<string, TokenOutcome>): Promise<Decision> {
    try {
      const { token } = request;
      if (typeof token !== 'string') return await this.#decide(request);
      const text = withoutScheme(token);
      const outcome = outcomes.get(text) ?? (await this.#authenticator.outcome(text, this.#clock.now()));
      outcomes.set(text, outcome);
      if (outcome.kind === 'invalid') return this.#refuse('DENY_TOKEN_INVALID', request);
      return this.#decideVerified(outcome.token, request, this.#clock.now());
    } catch (error) {
      return this.#failed('decideMany', error);
    }
  }

  #decideVerified(token: VerifiedAccessToken, request: DecideRequest, now: number): Decision {
    const asked = askedOf(request);
    const refusal = this.#authenticator.refusal(token, request.certificate, now);
    const decision = refusal === undefined ? this.#decideHeld(token, asked, now) : bareDecision(refusal);
    return this.#recorded(decision, request, token);
  }

  /** Decides for roles that a credential names: it is valid only where this service serves its domain. */
  #decideHeld(holder: Holder, asked: RequestedAccess, now: number): Decision {
    const refusal = this.#served.refusal(holder.domain, asked.resource);
    if (refusal !== undefined) return bareDecision(refusal);
    return decideInSet(this.#policies, holder.domain, holder.roles, asked, now);
  }

  /** A DENY of any token wins, and so does a decision without an end; else an ALLOW of any, else the status of the last. */
  async #decideSeveral(tokens: readonly unknown[], request: DecideRequest): Promise<Decision> {
    let allowed: Decision | undefined;
    let last = bareDecision('DENY_NO_MATCH');
    for (const token of tokens) {
      last =
        typeof token === 'string'
          ? await this.#decideToken(token, request)
          : this.#refuse('DENY_TOKEN_INVALID', request);
      // A search that exceeded its budget may have missed a DENY.
      if (last.status === 'DENY' || last.status === 'DENY_BUDGET_EXCEEDED') return last;
      if (last.status === 'ALLOW') allowed ??= last;
    }
    return allowed ?? last;
  }

  #refuse(status: Status, asked: { action: string; resource: string }): Decision {
    return this.#recorded(bareDecision(status), asked, undefined);
  }

  /** Passes the decision to the recorder, if there is one, and returns it. */
  #recorded(decision: Decision, asked: { action: string; resource: string }, holder: Holder | undefined): Decision {
    if (this.#recorder?.samples()) this.#recorder.record(recordOf(decision, asked, holder, this.#clock.now()));
    return decision;
  }
}

/** True for an array of strings from a caller without types: most callers have one role. */
const areStrings = (values: unknown): boolean =>
  Array.isArray(values) && (values.length === 1 ? typeof values[0] === 'string' : isEachString(values));

/** False for one with gaps as well. */
function isEachString(values: readonly unknown[]): boolean {
  for (let at = 0; at < values.length; at += 1) if (typeof values[at] !== 'string') return false;
  return true;
}

/** Read once and before anything is decided: what is checked is what is decided, also of an object whose parts are computed. */
function askedOf({ action, resource, context }: RequestedAccess): RequestedAccess {
  return { action, resource, context };
}

const nothingAsked = { roles: [], action: '', resource: '' };

/** Change that would make a verified token valid for the call. */
function credentialChange(refusal: Status, token: VerifiedAccessToken): CredentialChange {
  if (refusal === 'DENY_TOKEN_EXPIRED') return { kind: 'renew-token' };
  const { thumbprint } = token;
  return thumbprint === undefined ? { kind: 'bind-token' } : { kind: 'present-certificate', thumbprint };
}
