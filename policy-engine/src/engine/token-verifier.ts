import { systemClock } from '../clock.ts';
import { type KeysInput, openKeys } from '../loader/open-keys.ts';
import { checkNodeSignature } from '../token/node-signature.ts';
import { checkRules, type VerifierRules, TokenVerifier as WebTokenVerifier } from '../token/token-verifier.ts';

/** Options of a verifier. */
export interface TokenVerifierOptions extends VerifierRules {
  /** Keys that verify tokens, or where they are: an `https:` address or a file. */
  keys: KeysInput;
}

/** Verifies access tokens without any policy: for services that decide by roles of their own. */
export class TokenVerifier extends WebTokenVerifier {
  /**
   * Makes a verifier. Throws `PolicyEngineError`: `invalid-options` without an issuer or an audience, `keys-unavailable`,
   * `keys-malformed`.
   */
  static override async open(options: TokenVerifierOptions): Promise<TokenVerifier> {
    checkRules(options);
    const keys = await openKeys(options.keys, options.clock ?? systemClock, options);
    return new TokenVerifier(options, keys, checkNodeSignature);
  }
}
