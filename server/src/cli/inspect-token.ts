import { formatTimestamp } from '@signet/policy-engine/clock';
import type { Jwk } from '@signet/policy-engine/wire';
import { compactVerify, decodeJwt, decodeProtectedHeader, importJWK } from 'jose';
import { UsageError } from './run.ts';

/** Content of a token, before any verification. */
export interface DecodedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Verification by a key of the server: `unchecked` says why the result is unknown. */
export type SignatureState =
  | { readonly kind: 'holds'; readonly kid: string }
  | { readonly kind: 'fails'; readonly reason: string }
  | { readonly kind: 'unchecked'; readonly reason: string };

/** Decodes a token; the scheme word `Bearer` before it is skipped. Throws `UsageError`. */
export function decodeToken(text: string): DecodedToken & { readonly token: string } {
  const token = text.trim().replace(/^bearer +/i, '');
  try {
    return { token, header: { ...decodeProtectedHeader(token) }, claims: { ...decodeJwt(token) } };
  } catch (cause) {
    throw new UsageError('not a token: must be three base64url parts, separated by dots', { cause });
  }
}

/** Checks the signature alone, not the claims: an expired token may still be a real one. */
export async function checkSignature(token: string, kid: unknown, keys: readonly Jwk[]): Promise<SignatureState> {
  const jwk = keys.find((key) => key.kid === kid && key.purpose !== 'bundle');
  if (jwk === undefined) return { kind: 'fails', reason: 'the server does not publish this key for tokens' };
  try {
    await compactVerify(token, await importJWK({ ...jwk }), { algorithms: [jwk.alg] });
    return { kind: 'holds', kid: jwk.kid };
  } catch {
    return { kind: 'fails', reason: `it was not made with key ${jwk.kid}` };
  }
}

/** The token as a person reads it: one line a claim, times as text. `now` in milliseconds. */
export function describeToken(token: DecodedToken, signature: SignatureState, now: number): Record<string, string> {
  const lines: Record<string, string> = {};
  for (const [name, value] of Object.entries(token.header)) lines[`header ${name}`] = plain(value);
  for (const [name, value] of Object.entries(token.claims)) lines[name] = claim(name, value, now);
  const about = signature.kind === 'holds' ? `key ${signature.kid}` : signature.reason;
  lines['signature'] = `${signature.kind === 'fails' ? 'DOES NOT HOLD' : signature.kind} (${about})`;
  return lines;
}

const times: ReadonlySet<string> = new Set(['iat', 'exp', 'nbf', 'auth_time']);
const endOfTime = 8_640_000_000_000;

function claim(name: string, value: unknown, now: number): string {
  if (!times.has(name) || typeof value !== 'number' || Math.abs(value) > endOfTime) return plain(value);
  const distance = value - Math.floor(now / 1000);
  return `${value} = ${formatTimestamp(value * 1000)} (${distance < 0 ? `${span(-distance)} ago` : `in ${span(distance)}`})`;
}

function span(seconds: number): string {
  for (const [unit, length] of [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
  ] as const) {
    if (seconds >= 2 * length) return `${Math.floor(seconds / length)} ${unit}`;
  }
  return `${seconds} s`;
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '-');
}
