import { InvalidRequestError, UnsupportedGrantError } from '../errors.ts';
import { secondsOf } from './lifetimes.ts';
import { refuseWithoutEffect, type TokenRequestRules, type TokenShape } from './request-rules.ts';
import { parseScope, type RequestedScope } from './scope.ts';

/** The parameters of a form body by name: no name twice, empty values left out (RFC 6749 §3.2). */
type FormParameters = ReadonlyMap<string, string>;

/** A token request that is well-formed; whether it is granted is another question. */
export interface TokenRequest extends TokenShape {
  readonly scope: RequestedScope;
  /** Seconds; undefined: the default. */
  readonly expiresInSeconds?: number;
  /** RFC 8705 §2: names the client; it must be the caller. */
  readonly clientId?: string;
}

/** Ways to authenticate a client that are not the certificate; two at once are refused (RFC 6749 §2.3). */
const otherClientAuthentication = ['client_assertion', 'client_assertion_type', 'client_secret'] as const;

/**
 * Reads the parameters of `POST /oauth2/token`. Throws `InvalidRequestError`, `InvalidTargetError`, `UnsupportedGrantError`,
 * `InvalidScopeError`.
 */
export function parseTokenRequest(form: FormParameters, { fold, readShape }: TokenRequestRules): TokenRequest {
  for (const name of otherClientAuthentication) {
    if (form.has(name)) throw new InvalidRequestError(`\`${name}\` is not accepted beside the client certificate`);
  }
  const grant = form.get('grant_type');
  if (grant === undefined) throw new InvalidRequestError('grant_type is missing');
  if (fold(grant) !== 'client_credentials') throw new UnsupportedGrantError('grant_type must be `client_credentials`');
  refuseWithoutEffect(form);
  const scope = form.get('scope');
  if (scope === undefined) throw new InvalidRequestError('scope is missing');
  const expiresInSeconds = secondsOf(form, 'expires_in');
  const clientId = form.get('client_id');
  return {
    scope: parseScope(fold(scope)),
    ...readShape(form),
    ...(expiresInSeconds !== undefined && { expiresInSeconds }),
    ...(clientId !== undefined && { clientId }),
  };
}
