import { foldAscii } from '@signet/policy-engine/names';
import { InvalidRequestError, InvalidTargetError } from '../errors.ts';

/** Options of a token that a request may change. */
export interface TokenShape {
  /** SPIFFE ids of proxies that may pass the token on, beside its own certificate. */
  readonly proxyPrincipals?: readonly string[];
  /** True if the audience of a token for one role is `domain:role`. */
  readonly roleAudience?: boolean;
}

/** Rules by which a profile reads token requests. */
export interface TokenRequestRules {
  /** Key words and names as they are compared. */
  readonly fold: (text: string) => string;
  /** Reads the parameters that change what a token means. Throws `InvalidRequestError` for what cannot be honoured. */
  readonly readShape: (form: ReadonlyMap<string, string>) => TokenShape;
}

/** The profile `signet`: the parameters of RFC 6749, and others ignored as it wants. */
export const plainRequests: TokenRequestRules = {
  fold: (text) => text,
  readShape(form) {
    refuseNames(form, ownOfAthenz);
    return {};
  },
};

/** The profile `athenz`: without case, and with the parameters of its clients. */
export const athenzRequests: TokenRequestRules = {
  fold: foldAscii,
  readShape(form) {
    const proxyPrincipals = proxiesOf(form.get('proxy_principal_spiffe_uris'));
    return {
      ...(proxyPrincipals !== undefined && { proxyPrincipals }),
      ...(isTrue(form, 'role_in_aud_claim') && { roleAudience: true }),
    };
  },
};

/** The rules by their names in a profile. */
export const requestRules: Readonly<Record<'plain' | 'athenz', TokenRequestRules>> = {
  plain: plainRequests,
  athenz: athenzRequests,
};

/**
 * Parameters that ask for a token of or for another principal, for other rights than roles, or for another audience. INVARIANT: a parameter that narrows or
 * redirects a token has an effect or is refused: else the token is one for more than was asked for (as RFC 8707 §2 says of `resource`).
 */
const notHonoured = [
  'actor',
  'actor_token',
  'actor_token_type',
  'assertion',
  'audience',
  'authorization_details',
  'claims',
  'dpop_jkt',
  'proxy_for_principal',
  'request',
  'request_uri',
  'requested_token_type',
  'subject_token',
  'subject_token_type',
] as const;

/** Parameters that have an effect in the profile `athenz` alone. */
const ownOfAthenz = ['proxy_principal_spiffe_uris', 'role_in_aud_claim'] as const;

/** Throws `InvalidTargetError` and `InvalidRequestError` for what would be without effect on a token, in a body or a query. */
export function refuseWithoutEffect(parameters: Pick<ReadonlyMap<string, string>, 'has'>): void {
  if (parameters.has('resource')) {
    throw new InvalidTargetError(
      'resource is not supported: name the domain in the scope, as in `catalog:role.reader`',
    );
  }
  refuseNames(parameters, notHonoured);
}

function refuseNames(parameters: Pick<ReadonlyMap<string, string>, 'has'>, names: readonly string[]): void {
  const found = names.find((name) => parameters.has(name));
  if (found !== undefined) throw new InvalidRequestError(`\`${found}\` is not supported`);
}

/** Maximum of proxies, above any real chain, and small enough for a header. */
const maxProxies = 32;
/** Maximum length of a SPIFFE id. */
const maxProxyLength = 2048;
const spiffeId = /^spiffe:\/\/[a-z0-9._-]{1,255}(?:\/[A-Za-z0-9._-]+)+$/;

function proxiesOf(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const uris = text.split(',');
  if (uris.length > maxProxies) {
    throw new InvalidRequestError(`proxy_principal_spiffe_uris has more than ${maxProxies} ids`);
  }
  if (uris.every((uri) => uri.length <= maxProxyLength && spiffeId.test(uri))) return uris;
  throw new InvalidRequestError('proxy_principal_spiffe_uris must be SPIFFE ids with commas between them');
}

function isTrue(form: ReadonlyMap<string, string>, name: string): boolean {
  const text = foldAscii(form.get(name) ?? 'false');
  if (text === 'true' || text === 'false') return text === 'true';
  throw new InvalidRequestError(`${name} must be \`true\` or \`false\``);
}
