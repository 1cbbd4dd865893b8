import { decodeBase64url } from '../base64url.ts';
import { maxTokenRoles } from '../wire/token-bounds.ts';

/** An access token whose signature, issuer, type and claims were found good. */
export interface VerifiedAccessToken {
  /** The one audience: the domain whose roles the token carries. */
  readonly domain: string;
  /** Short names of the roles (`scp`). Data: a `*` in one is not a wildcard. */
  readonly roles: readonly string[];
  readonly issuer: string;
  readonly subject: string;
  /** Client that requested the token; the same as the subject in tokens of a Signet server. */
  readonly clientId: string | undefined;
  /** `jti`: what to log in place of the token. */
  readonly tokenId: string | undefined;
  /** Seconds since the epoch. The token is good before this instant. */
  readonly expires: number;
  /** The key that signed it. */
  readonly kid: string;
  /** Base64url SHA-256 of the certificate that the token is bound to; absent in an unbound token. */
  readonly thumbprint: string | undefined;
}

/** Reason why a token was not accepted, for logs. It holds nothing that the sender of the token did not know. */
export type TokenFault =
  | 'not-text'
  | 'too-large'
  | 'malformed'
  | 'algorithm'
  | 'type'
  | 'unknown-key'
  | 'keys-unavailable'
  | 'signature'
  | 'issuer'
  | 'audience'
  | 'claims'
  | 'not-yet-valid'
  | 'lifetime'
  | 'roles'
  | 'confirmation';

interface ClaimRules {
  readonly issuers: ReadonlySet<string>;
  /** Domains that are accepted as audience; every domain when absent. */
  readonly audiences: ReadonlySet<string> | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Maximum lead of `nbf` and `iat` over the own clock. */
  readonly skewSeconds: number;
  /** True if `iat`, `jti` and `client_id` may be missing. */
  readonly legacyTypes?: boolean;
  readonly maxTokenLifeSeconds?: number | undefined;
  /** True if the audience may be `domain:role`. */
  readonly roleInAudience?: boolean;
}

/** The last second of the year 9999: no honest claim is later. */
const latestTime = 253_402_300_799;

/** Checks the claims of a token whose signature was verified; the expiry is left to the caller. */
export function readClaims(
  claims: Readonly<Record<string, unknown>>,
  kid: string,
  rules: ClaimRules,
): VerifiedAccessToken | TokenFault {
  const { iss, sub, exp, nbf, iat, jti, client_id } = claims;
  if (typeof iss !== 'string' || !rules.issuers.has(iss)) return 'issuer';
  const target = audience(claims['aud'], rules.roleInAudience ?? false);
  if (target === undefined || rules.audiences?.has(target.domain) === false) return 'audience';
  if (typeof sub !== 'string' || sub === '' || !isTime(exp)) return 'claims';
  if (!isOptionalText(jti) || !isOptionalText(client_id)) return 'claims';
  if (rules.legacyTypes !== true && !isComplete(claims)) return 'claims';
  const timeFault = readTimes({ exp, nbf, iat }, rules);
  if (timeFault !== undefined) return timeFault;
  const roles = readRoles(claims['scp'], target.role);
  if (roles === undefined) return 'roles';
  const thumbprint = readConfirmation(claims['cnf']);
  if (thumbprint === null) return 'confirmation';
  return Object.freeze({
    domain: target.domain,
    roles,
    issuer: iss,
    subject: sub,
    clientId: client_id,
    tokenId: jti,
    expires: exp,
    kid,
    thumbprint,
  });
}

/** Audience: one string, or an array of exactly one; with two it would be ambiguous whose roles these are. */
function audience(value: unknown, roleInAudience: boolean): Audience | undefined {
  const only: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (typeof only !== 'string' || only === '') return undefined;
  const colon = roleInAudience ? only.indexOf(':') : -1;
  if (colon < 0) return { domain: only };
  return colon === 0 ? undefined : { domain: only.slice(0, colon), role: only.slice(colon + 1) };
}

/** Audience of a token: a domain, or one role of it (`role_in_aud_claim` of Athenz). */
interface Audience {
  readonly domain: string;
  readonly role?: string;
}

/** `named`: the role of the audience, which must be one of them. */
function readRoles(value: unknown, named: string | undefined): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxTokenRoles) return undefined;
  const roles: string[] = [];
  for (const role of value as readonly unknown[]) {
    if (typeof role !== 'string' || role === '') return undefined;
    roles.push(role);
  }
  return named === undefined || roles.includes(named) ? Object.freeze(roles) : undefined;
}

/** The thumbprint, `undefined` without `cnf`, `null` for a confirmation that we cannot check (RFC 7800 §3.1). */
function readConfirmation(cnf: unknown): string | undefined | null {
  if (cnf === undefined) return undefined;
  if (typeof cnf !== 'object' || cnf === null) return null;
  // Proxies are others who may present the token; here only the holder of the certificate may.
  if (Object.keys(cnf).some((name) => name !== 'x5t#S256' && name !== 'proxy-principals#spiffe')) return null;
  const thumbprint: unknown = 'x5t#S256' in cnf ? cnf['x5t#S256'] : undefined;
  return typeof thumbprint === 'string' && decodeBase64url(thumbprint)?.length === 32 ? thumbprint : null;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= latestTime;
}

function isTimeOrAbsent(...values: unknown[]): boolean {
  return values.every((value) => value === undefined || isTime(value));
}

function isPast(value: unknown, rules: ClaimRules): boolean {
  return value === undefined || (isTime(value) && value * 1000 <= rules.now + rules.skewSeconds * 1000);
}

/** Claims that RFC 9068 §2.2 requires beyond those that a decision needs. */
function isComplete({ iat, jti, client_id }: Readonly<Record<string, unknown>>): boolean {
  return (
    iat !== undefined && typeof jti === 'string' && jti !== '' && typeof client_id === 'string' && client_id !== ''
  );
}

function readTimes(
  { exp, nbf, iat }: { exp: number; nbf: unknown; iat: unknown },
  rules: ClaimRules,
): TokenFault | undefined {
  if (!isPast(nbf, rules) || !isPast(iat, rules)) return isTimeOrAbsent(nbf, iat) ? 'not-yet-valid' : 'claims';
  return livesTooLong(exp, iat, rules) ? 'lifetime' : undefined;
}

/** A token that does not say when it was issued lives from now on. */
function livesTooLong(exp: number, iat: unknown, { now, maxTokenLifeSeconds: max }: ClaimRules): boolean {
  return max !== undefined && exp - (isTime(iat) ? iat : now / 1000) > max;
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}
