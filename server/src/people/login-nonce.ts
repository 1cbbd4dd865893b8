import { createHash } from 'node:crypto';

/** Prefix of the hashed nonce, which separates it from all other hashes. */
const purpose = 'signet login 1';

/** Random octets of a login, 32 of them in base64url. */
export const saltGrammar = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

/**
 * The nonce with which a person logs in (OpenID Connect Core §2): it says for which key the ID token will be used, so that the token is worth
 * nothing with another one. `spki`: the public key in DER.
 */
export function loginNonce(salt: string, spki: Uint8Array): string {
  const hash = createHash('sha256').update(`${purpose}\0`).update(Buffer.from(salt, 'base64url'));
  return hash.update(spki).digest('base64url');
}
