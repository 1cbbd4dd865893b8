import { hash } from 'node:crypto';
import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import { parseStrictJson } from '@signet/policy-engine/json';
import { type CompactVerifyGetKey, compactVerify } from 'jose';
import { ForbiddenError, ServiceUnavailableError } from '../../errors.ts';
import type { InstanceStore } from '../../model/instance-store.ts';
import {
  type AttestationProvider,
  type AttestationRequest,
  ProviderFailedError,
  plainlyAttested,
} from './attestation.ts';

/** Issuer of signed tokens (a Kubernetes cluster, a CI system) that is trusted for some services. */
export interface JwtIssuer {
  /** `iss` of its tokens, exactly. */
  readonly issuer: string;
  /** `aud` must hold this. */
  readonly audience: string;
  /** Template of `sub`, with `{domain}`, `{service}` and `{instanceId}` filled in. */
  readonly subject: string;
  /** The same for other claims, by their path; a dot in a path separates members, `\.` is a dot in a name. */
  readonly claims: Readonly<Record<string, string>>;
  /** Tokens issued longer ago than this are refused. */
  readonly maxAgeSeconds: number;
}

const algorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'];
const maxLength = 16_384;
const toleranceSeconds = 60;

function fill(template: string, request: AttestationRequest): string {
  const values = new Map<string, string>([
    ['{domain}', request.domain],
    ['{service}', request.service],
    ['{instanceId}', request.instanceId],
  ]);
  return template.replaceAll(/\{(?:domain|service|instanceId)\}/g, (name) => values.get(name) ?? name);
}

/** `a.b` as its names; `\.` is a dot in a name. */
function pathOf(path: string): readonly string[] {
  return path.split(/(?<!\\)\./).map((name) => name.replaceAll('\\.', '.'));
}

/** The member of some claims at a path of names; undefined when there is none. */
export function claimAt(claims: unknown, path: readonly string[]): unknown {
  let value = claims;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = new Map<string, unknown>(Object.entries(value)).get(name);
  }
  return value;
}

/** Throws for what is not UTF-8; a byte order mark is kept, which the reader of JSON refuses. */
function utf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
}

async function signedClaims(text: string, keys: CompactVerifyGetKey, field: string): Promise<unknown> {
  try {
    const { payload } = await compactVerify(text, keys, { algorithms });
    // `jose` takes the last of two members of one name: the header that it has verified by must be strict as well.
    parseStrictJson(utf8(Buffer.from(text.slice(0, text.indexOf('.')), 'base64url')));
    return parseStrictJson(utf8(payload));
  } catch (cause) {
    if (cause instanceof ServiceUnavailableError || cause instanceof ProviderFailedError) throw cause;
    throw new ForbiddenError(`${field} is not a valid token of the configured issuer`, { cause });
  }
}

/** The claims that are relied on: every one of them is required, although `jose` would take a token without `exp`. */
interface CheckedClaims {
  readonly claims: object;
  /** Time of issue, in milliseconds since the epoch. */
  readonly issuedAt: number;
  /** Expiry of the token with the allowed skew, in seconds since the epoch. */
  readonly end: number;
}

/* RFC 7519 §4.1. */
function checkClaims(claims: unknown, issuer: TokenRules, now: number, field: string): CheckedClaims {
  const fault = claimsFault(claims, issuer, now);
  if (fault !== undefined || typeof claims !== 'object' || claims === null) {
    throw new ForbiddenError(`${field} is a token with ${fault ?? 'no claims'}`);
  }
  const [exp, iat] = [Number(claimAt(claims, ['exp'])), Number(claimAt(claims, ['iat']))];
  return { claims, issuedAt: iat * 1000, end: Math.ceil(Math.min(exp, iat + issuer.maxAgeSeconds)) + toleranceSeconds };
}

/** Requirements on every token of an issuer. */
type TokenRules = Pick<JwtIssuer, 'issuer' | 'audience' | 'maxAgeSeconds'>;

/**
 * The claims of a signed token, once its signature, issuer, audience and age are checked; `field` names it in refusals. Throws `ForbiddenError`,
 * and the error of `keys` when they cannot be fetched: `ProviderFailedError` or `ServiceUnavailableError`.
 */
export async function verifiedClaims(
  text: string,
  keys: CompactVerifyGetKey,
  rules: TokenRules,
  { now, field }: { readonly now: number; readonly field: string },
): Promise<CheckedClaims> {
  return checkClaims(await signedClaims(text, keys, field), rules, now, field);
}

function claimsFault(claims: unknown, issuer: TokenRules, now: number): string | undefined {
  const [iss, aud, exp, iat, nbf] = ['iss', 'aud', 'exp', 'iat', 'nbf'].map((name) => claimAt(claims, [name]));
  if (iss !== issuer.issuer) return 'another issuer';
  if (aud !== issuer.audience && !(Array.isArray(aud) && aud.includes(issuer.audience))) return 'another audience';
  if (typeof exp !== 'number' || !(exp > now - toleranceSeconds)) return 'no time left';
  if (typeof iat !== 'number' || !(iat <= now + toleranceSeconds)) return 'no time of issue that has passed';
  if (iat < now - issuer.maxAgeSeconds - toleranceSeconds) return 'a time of issue that is too long ago';
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= now + toleranceSeconds)) return 'a start in the future';
  return undefined;
}

/*
 * Identity of a token for replay detection: its `jti`, else all that is signed of it. The signature itself is left out, since that of an
 * elliptic curve has a second form for the same content.
 */
function digestOf(text: string, claims: object, issuer: JwtIssuer): string {
  const id = claimAt(claims, ['jti']);
  if (id !== undefined && typeof id !== 'string') {
    throw new ForbiddenError('attestationData is a token with a `jti` that is not a string');
  }
  const signed = text.slice(0, text.lastIndexOf('.'));
  return hash(
    'sha256',
    JSON.stringify(id === undefined ? ['signed', signed] : ['jti', issuer.issuer, id]),
    'base64url',
  );
}

export interface SignedJwtDeps {
  readonly issuer: JwtIssuer;
  readonly keys: CompactVerifyGetKey;
  readonly clock: Clock;
  readonly instances: Pick<InstanceStore, 'spendAttestationToken'>;
}

/**
 * Attests by a signed token: its signature, issuer, audience and age, that its claims name the service asked for, and that it has not
 * counted before. The instance that it counted for may show it again when it refreshes: its certificate speaks for it then.
 */
export function signedJwtProvider({ issuer, keys, clock, instances }: SignedJwtDeps): AttestationProvider {
  const named = { ...issuer.claims, sub: issuer.subject };
  const rules = Object.entries(named).map(([name, template]) => ({ name, path: pathOf(name), template }));
  return {
    async attest(request) {
      const { attestationData, provider, domain, service, instanceId } = request;
      if (attestationData.length > maxLength) throw new ForbiddenError('attestationData is too long for a token');
      const checked = await verifiedClaims(attestationData, keys, issuer, {
        now: epochSeconds(clock),
        field: 'attestationData',
      });
      const { claims, issuedAt, end } = checked;
      for (const { name, path, template } of rules) {
        if (claimAt(claims, path) !== fill(template, request)) {
          throw new ForbiddenError(`attestationData is a token whose claim \`${name}\` names something else`);
        }
      }
      if (issuedAt < (request.credentialsFrom ?? 0)) {
        throw new ForbiddenError('attestationData is a token of before the service was made again');
      }
      const digest = digestOf(attestationData, claims, issuer);
      const use = await instances.spendAttestationToken(digest, { provider, domain, service, instanceId }, end);
      if (use === 'first' || (use === 'again' && request.operation === 'refresh')) return plainlyAttested;
      throw new ForbiddenError('attestationData is a token that was used before');
    },
  };
}
