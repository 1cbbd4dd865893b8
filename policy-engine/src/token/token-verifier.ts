import { type Clock, systemClock } from '../clock.ts';
import { PolicyEngineError } from '../errors.ts';
import { type OpenedKeys, openWebKeys, type WebKeys } from '../keys/index.ts';
import { steadyClock } from '../steady-clock.ts';
import type { VerifiedAccessToken } from './claims.ts';
import { type CheckSignature, checkWebSignature } from './signature.ts';
import type { CertificateInput } from './thumbprint.ts';
import { TokenCache } from './token-cache.ts';
import { checkTokenRules } from './token-rules.ts';
import { isExpired, type TokenOutcome, verifyAccessToken, withoutScheme } from './verify.ts';
import { webThumbprint } from './web-thumbprint.ts';

/** Options of a verifier, apart from its keys. */
export interface VerifierRules {
  /** Trusted issuers, compared exactly; one at least. */
  issuers: readonly string[];
  /** Domains whose tokens are accepted; one at least. */
  audiences: readonly string[];
  /** Default: the clock of the machine. */
  clock?: Clock;
  /** Refuse tokens that are bound to no certificate. Default true. */
  requireBound?: boolean;
  /** Maximum lead of `nbf` and `iat` over the own clock, in seconds. Default 60; the expiry has no allowance. */
  skewSeconds?: number;
  /** Accepts also tokens with `typ` `JWT` or none, and without `iat`, `jti` or `client_id`. Default false: RFC 9068 §2. */
  legacyTypes?: boolean;
  /** Refuse tokens that live longer, in seconds. Default: no bound of the verifier's own. */
  maxTokenLifeSeconds?: number;
  /** Accepts also the audience `domain:role` (`role_in_aud_claim` of Athenz); the role must be one of the token's. Default false. */
  roleInAudience?: boolean;
  /** RSA keys of fewer bits are left out. Default and least: 2048. Keys of a `KeySource` of your own are not looked at. */
  minRsaBits?: number;
  /** How many verified tokens are kept. Default 10,000; 0 keeps none. */
  maxCachedTokens?: number;
}

/** Options of a verifier that needs no file system. */
export interface WebVerifierOptions extends VerifierRules {
  /** Keys that verify tokens, or the `https:` address where they are. */
  keys: WebKeys;
}

/** A token and the certificate of the connection on which it came. */
export interface VerifyRequest {
  /** The token, or a header value with `Bearer` in front. */
  token: string;
  /** Client certificate of the connection. A bound token is valid only with its certificate. */
  certificate?: CertificateInput | null | undefined;
}

/** Result of a verification. `not-held`: the token is valid, but bound to another certificate, or to none where one is required. */
export type VerifierOutcome = TokenOutcome | { readonly kind: 'not-held'; readonly token: VerifiedAccessToken };

/** Verifies access tokens without any policy: for services that decide by roles of their own. */
export class TokenVerifier implements Disposable {
  readonly #rules: VerifierRules;
  readonly #audiences: ReadonlySet<string>;
  readonly #clock: Clock;
  readonly #keys: OpenedKeys;
  readonly #cache: TokenCache;
  readonly #checkSignature: CheckSignature;

  protected constructor(rules: VerifierRules, keys: OpenedKeys, checkSignature: CheckSignature = checkWebSignature) {
    this.#rules = rules;
    this.#checkSignature = checkSignature;
    this.#audiences = new Set(rules.audiences);
    this.#clock = steadyClock(rules.clock ?? systemClock);
    this.#keys = keys;
    this.#cache = new TokenCache(rules.maxCachedTokens ?? 10_000);
  }

  /**
   * Makes a verifier. Throws `PolicyEngineError`: `invalid-options` without an issuer or an audience, `keys-unavailable`,
   * `keys-malformed`.
   */
  static async open(options: WebVerifierOptions): Promise<TokenVerifier> {
    checkRules(options);
    return new TokenVerifier(options, await openWebKeys(options.keys, options.clock ?? systemClock, options));
  }

  /** Verifies a token, its audience and its binding to the certificate. Never rejects. */
  async verify(request: VerifyRequest): Promise<VerifierOutcome> {
    try {
      const { token, certificate } = request;
      const outcome = await this.#verifyText(token);
      if (outcome.kind !== 'valid') return outcome;
      const { thumbprint } = outcome.token;
      const isHeld =
        thumbprint === undefined
          ? this.#rules.requireBound === false
          : (await webThumbprint(certificate)) === thumbprint;
      return isHeld ? outcome : { kind: 'not-held', token: outcome.token };
    } catch {
      return { kind: 'invalid', fault: 'malformed' };
    }
  }

  /** Error of the latest refresh of keys, if it failed. */
  get keysError(): PolicyEngineError | undefined {
    return this.#keys.source.error;
  }

  /** Keys of the key set that are left out, with the reason; the others count. */
  get keysLeftOut(): readonly string[] {
    return this.#keys.source.leftOut ?? [];
  }

  /** Stops looking for new keys. */
  close(): void {
    this.#keys.close();
    this.#cache.clear();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #verifyText(given: unknown): Promise<TokenOutcome> {
    if (typeof given !== 'string') return { kind: 'invalid', fault: 'not-text' };
    const text = withoutScheme(given);
    const now = this.#clock.now();
    const { source } = this.#keys;
    const { revision } = source;
    const known = this.#cache.get(text, now, revision);
    if (known !== undefined) return { kind: isExpired(known, now) ? 'expired' : 'valid', token: known };
    const { issuers, skewSeconds = 60, legacyTypes = false, roleInAudience = false, maxTokenLifeSeconds } = this.#rules;
    const rules = { issuers, audiences: this.#audiences, now, skewSeconds, legacyTypes, maxTokenLifeSeconds };
    const checkSignature = this.#checkSignature;
    const outcome = await verifyAccessToken(text, { ...rules, roleInAudience, keys: source, checkSignature });
    if (outcome.kind === 'valid') this.#cache.set(text, outcome.token, now, revision);
    return outcome;
  }
}

/** Requires issuer and audience: without them, tokens meant for others would be accepted, which must not pass for a default. */
export function checkRules(rules: VerifierRules): void {
  checkTokenRules(rules);
  const { issuers, audiences } = rules;
  for (const [name, values] of Object.entries({ issuers, audiences })) {
    if (!isNames(values))
      throw new PolicyEngineError('invalid-options', `\`${name}\` must be an array that names at least one`);
  }
}

function isNames(values: unknown): boolean {
  return (
    Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === 'string' && value !== '')
  );
}
