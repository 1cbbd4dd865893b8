import { decodeBase64url } from '../base64url.ts';
import type { CryptoKey, KeySource } from '../keys/index.ts';
import { maxTokenLength } from '../wire/token-bounds.ts';
import { readClaims, type TokenFault, type VerifiedAccessToken } from './claims.ts';
import { parsePart } from './parse-part.ts';
import { type CheckSignature, checkWebSignature, type SignedText, signatureAlgorithms } from './signature.ts';

/** Options for the verification of an access token. */
export interface VerifyAccessTokenOptions {
  keys: KeySource;
  /** Issuers that are trusted, compared exactly. */
  issuers: readonly string[] | ReadonlySet<string>;
  /** Milliseconds since the epoch. */
  now: number;
  /** Domains that are accepted as audience. Default: every one, for callers that look the domain up themselves. */
  audiences?: ReadonlySet<string>;
  /** Maximum lead of `nbf` and `iat` over the own clock, in seconds. Default 60. The expiry has no allowance. */
  skewSeconds?: number;
  /** Accepts also `typ` `JWT` and tokens without `typ`, `iat`, `jti` or `client_id`, as older servers write them. Default false: RFC 9068 §2. */
  legacyTypes?: boolean;
  /** Refuse tokens that live longer, in seconds. Default: no bound. */
  maxTokenLifeSeconds?: number | undefined;
  /** Accepts also the audience `domain:role` (`role_in_aud_claim` of Athenz); the role must be one of the token's. Default false. */
  roleInAudience?: boolean;
  /** Verification of signatures. Default: WebCrypto. */
  checkSignature?: CheckSignature;
}

/** Result for a token. `expired` tokens are valid in every other respect. */
export type TokenOutcome =
  | { readonly kind: 'valid'; readonly token: VerifiedAccessToken }
  | { readonly kind: 'expired'; readonly token: VerifiedAccessToken }
  | { readonly kind: 'invalid'; readonly fault: TokenFault };

const space = 0x20;
const tab = 0x09;

/** Members that would have the token choose its own key, or mean something else than it says (RFC 8725 §3.10). */
const refusedMembers = ['crit', 'b64', 'zip', 'jku', 'jwk', 'x5u', 'x5c'] as const;

/**
 * Verifies an access token (RFC 9068 §4): signature by a key of purpose `token`, algorithm bound to that key, `typ`, issuer,
 * audience, times, roles, and the form of `cnf`. Whether the caller holds the certificate that `cnf` names is not checked here.
 * Never throws: whatever is passed has an outcome.
 */
export async function verifyAccessToken(text: unknown, options: VerifyAccessTokenOptions): Promise<TokenOutcome> {
  if (typeof text !== 'string') return invalid('not-text');
  if (text.length > maxTokenLength) return invalid('too-large');
  const read = readToken(text, options.legacyTypes ?? false);
  if (typeof read === 'string') return invalid(read);
  const key = await findKey(options.keys, read.kid);
  if (typeof key === 'string') return invalid(key);
  const claims = await verifiedClaims(read, key, options.checkSignature ?? checkWebSignature);
  if (typeof claims === 'string') return invalid(claims);
  const token = readClaims(claims, read.kid, {
    issuers: new Set(options.issuers),
    audiences: options.audiences,
    now: options.now,
    skewSeconds: options.skewSeconds ?? 60,
    legacyTypes: options.legacyTypes ?? false,
    maxTokenLifeSeconds: options.maxTokenLifeSeconds,
    roleInAudience: options.roleInAudience ?? false,
  });
  if (typeof token === 'string') return invalid(token);
  return { kind: isExpired(token, options.now) ? 'expired' : 'valid', token };
}

/** True if the token is past its expiry; no allowance for clocks. `now` in milliseconds since the epoch. */
export function isExpired(token: VerifiedAccessToken, now: number): boolean {
  return now >= token.expires * 1000;
}

/** Strips `Bearer` (in any case) off a header value. */
export function withoutScheme(value: string): string {
  if (!/^bearer[ \t]/i.test(value)) return value;
  let from = 'bearer '.length;
  while (value.charCodeAt(from) === space || value.charCodeAt(from) === tab) from += 1;
  return value.slice(from).trimEnd();
}

/** A token of which only the header was read. */
interface ReadToken extends SignedText {
  readonly kid: string;
  readonly payload: Uint8Array;
}

function readToken(text: string, legacyTypes: boolean): ReadToken | TokenFault {
  // One more part than allowed: a text of nothing but dots costs no more than another.
  const parts = text.split('.', 4);
  if (parts.length !== 3) return 'malformed';
  const [first, payload, signature] = parts.map(decodeBase64url);
  if (first === undefined || payload === undefined || signature === undefined) return 'malformed';
  const header = parsePart(first);
  if (header === undefined) return 'malformed';
  if (refusedMembers.some((member) => Object.hasOwn(header, member))) return 'malformed';
  const { alg, typ, kid } = header;
  if (typeof alg !== 'string' || !signatureAlgorithms.includes(alg)) return 'algorithm';
  if (!isAccessTokenType(typ, legacyTypes)) return 'type';
  if (typeof kid !== 'string' || kid === '') return 'unknown-key';
  return { text, algorithm: alg, signature, kid, payload };
}

function isAccessTokenType(typ: unknown, legacyTypes: boolean): boolean {
  if (typ === undefined) return legacyTypes;
  if (typeof typ !== 'string') return false;
  const type = typ.toLowerCase().replace(/^application\//, '');
  return type === 'at+jwt' || (legacyTypes && type === 'jwt');
}

async function findKey(keys: KeySource, kid: string): Promise<CryptoKey | TokenFault> {
  try {
    return (await keys.find(kid, 'token')) ?? 'unknown-key';
  } catch {
    return 'keys-unavailable';
  }
}

async function verifiedClaims(
  token: ReadToken,
  key: CryptoKey,
  check: CheckSignature,
): Promise<Readonly<Record<string, unknown>> | TokenFault> {
  try {
    return (await check(token, key)) ? (parsePart(token.payload) ?? 'malformed') : 'signature';
  } catch {
    return 'signature';
  }
}

function invalid(fault: TokenFault): TokenOutcome {
  return { kind: 'invalid', fault };
}
