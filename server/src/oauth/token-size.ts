import { maxIssuedTokenLength, maxTokenRoles } from '@signet/policy-engine/wire';
import { InvalidScopeError } from '../errors.ts';

/**
 * Factors of the size: names of roles stand in `scp` and in `scope`, with quotation marks and separators; base64url makes four characters of
 * three.
 */
const [copies, separators, expansion] = [2, 4, 4 / 3];

/** Characters of an access token besides its roles: header, signature and the other claims with usual names. */
const rest = 1500;

/** True if an access token for these roles would be refused: an estimate that plans warn by, before there is a token. */
export function isTooLargeForToken(roles: Iterable<string>): boolean {
  let [count, characters] = [0, 0];
  for (const role of roles) {
    count += 1;
    characters += copies * role.length + separators;
  }
  return count > maxTokenRoles || characters * expansion + rest > maxIssuedTokenLength;
}

/**
 * The token, unless it has more roles or groups than readers accept, or is too long for the headers of a request. Throws `InvalidScopeError`.
 */
export function requirePresentable(token: string, names: number): string {
  if (token.length <= maxIssuedTokenLength && names <= maxTokenRoles) return token;
  throw new InvalidScopeError(
    `scope asks for a token of ${names} roles, ${token.length} characters: services accept at most ${maxTokenRoles} and ${maxIssuedTokenLength}; name the roles that are needed, as \`<domain>:role.<role>\``,
  );
}
