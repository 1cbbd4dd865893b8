import type { KeySource } from '../keys/index.ts';
import type { Status } from '../policy/index.ts';
import type { VerifiedAccessToken } from '../token/claims.ts';
import { checkNodeSignature } from '../token/node-signature.ts';
import { TokenCache } from '../token/token-cache.ts';
import { isExpired, type TokenOutcome, verifyAccessToken } from '../token/verify.ts';
import { Thumbprints } from './binding.ts';

interface TokenAuthenticatorOptions {
  readonly keys: KeySource;
  readonly issuers: () => readonly string[];
  readonly requireBound: boolean;
  readonly skewSeconds: number;
  readonly legacyTypes: boolean;
  readonly roleInAudience: boolean;
  readonly maxTokenLifeSeconds: number | undefined;
  readonly maxCachedTokens: number;
}

/** Authenticates by tokens: verifies new ones, remembers them, and checks at every use what can change between two. */
export class TokenAuthenticator {
  readonly #options: TokenAuthenticatorOptions;
  readonly #cache: TokenCache;
  readonly #thumbprints = new Thumbprints();

  constructor(options: TokenAuthenticatorOptions) {
    this.#options = options;
    this.#cache = new TokenCache(options.maxCachedTokens);
  }

  /** A token that was verified before; `now` in milliseconds since the epoch. */
  known(text: string, now: number): VerifiedAccessToken | undefined {
    return this.#cache.get(text, now, this.#options.keys.revision);
  }

  /** Verifies a token, and remembers it when it is good. */
  async verify(text: string, now: number): Promise<TokenOutcome> {
    const { keys, skewSeconds, legacyTypes, roleInAudience, maxTokenLifeSeconds } = this.#options;
    const { revision } = keys;
    const outcome = await verifyAccessToken(text, {
      keys,
      issuers: this.#options.issuers(),
      now,
      skewSeconds,
      legacyTypes,
      roleInAudience,
      maxTokenLifeSeconds,
      checkSignature: checkNodeSignature,
    });
    if (outcome.kind === 'valid') this.#cache.set(text, outcome.token, now, revision);
    return outcome;
  }

  /** The same for a token that may have been verified before. */
  async outcome(text: string, now: number): Promise<TokenOutcome> {
    const token = this.known(text, now);
    return token === undefined ? await this.verify(text, now) : { kind: 'valid', token };
  }

  /** Refusal of a verified token that is not valid now and on this connection; `undefined` if it is. */
  refusal(token: VerifiedAccessToken, certificate: unknown, now: number): Status | undefined {
    if (isExpired(token, now)) return 'DENY_TOKEN_EXPIRED';
    const { thumbprint } = token;
    const isHeld =
      thumbprint === undefined ? !this.#options.requireBound : this.#thumbprints.matches(certificate, thumbprint);
    return isHeld ? undefined : 'DENY_CERT_HASH_MISMATCH';
  }

  clear(): void {
    this.#cache.clear();
  }
}
