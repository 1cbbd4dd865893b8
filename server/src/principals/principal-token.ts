import { type KeyObject, verify } from 'node:crypto';
import {
  type DomainName,
  type KeyId,
  type PrincipalName,
  parseDomainName,
  parseKeyId,
  parseServiceName,
  type ServiceName,
  servicePrincipal,
} from '@signet/policy-engine/names';
import { credentialsOf, isKnownIdentity } from '../access/known-identity.ts';
import { type FindKeyId, registeredKey } from '../base/registered-key.ts';
import { fromYBase64 } from '../base/ybase64.ts';
import { UnauthenticatedError } from '../errors.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { IsRevoked } from './principal.ts';

/** Fields of a principal token that are evaluated here. Times in seconds since the epoch. */
interface PrincipalTokenFields {
  readonly principal: PrincipalName;
  readonly keyId?: KeyId;
  /** The certificate that the server gave with the token. */
  readonly serial?: string;
  readonly key: KeyObject | undefined;
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/**
 * Principal of a valid principal token, its time of issue (seconds since the epoch), and the registered key that signed it; absent: the
 * server's.
 */
export interface VerifiedPrincipalToken {
  readonly principal: PrincipalName;
  readonly issuedAt: number;
  readonly keyId?: KeyId;
}

interface PrincipalTokenRules {
  readonly snapshot: Snapshot;
  readonly findKeyId: FindKeyId;
  readonly serverTokens?: ServerTokens | undefined;
}

/** Verification of tokens that the server signed for services. */
export interface ServerTokens {
  /** The server's key of that id, if it signs tokens. */
  readonly keyOf: (kid: string) => KeyObject | undefined;
  readonly isRevoked: IsRevoked;
}

/** The name of the server among those who sign principal tokens for others (`z`). */
export const serverSigner = 'zts';

const skewSeconds = 300;
const maxLifeSeconds = 30 * 86_400;
const maxTokenLength = 8192;
const signedToken = /^[a-zA-Z0-9\\._%=:;,-]+$/;
const seconds = /^\d{1,12}$/;

/**
 * Verifies a principal token (docs/reference/authentication.md#principal-tokens): `v=S1;d=…;n=…;…;s=<signature>`, signed by the registered
 * service key that `k` names (SHA-256 with RSA PKCS #1 or with ECDSA in DER). Throws `UnauthenticatedError`.
 */
export function verifyPrincipalToken(token: string, rules: PrincipalTokenRules, now: number): VerifiedPrincipalToken {
  const signatureAt = token.lastIndexOf(';s=');
  if (token.length > maxTokenLength || signatureAt < 0 || !signedToken.test(token)) throw refused('malformed');
  const signed = token.slice(0, signatureAt);
  const fields = readFields(signed, rules);
  const nowSeconds = Math.floor(now / 1000);
  if (fields.issuedAt > nowSeconds + skewSeconds) throw refused('issued in the future', fields.principal);
  if (fields.expiresAt < nowSeconds) throw refused('expired', fields.principal);
  if (fields.expiresAt > nowSeconds + maxLifeSeconds + skewSeconds) throw refused('lives too long', fields.principal);
  requireOwnToken(fields, rules.snapshot);
  const signature = fromYBase64(token.slice(signatureAt + 3));
  if (fields.key === undefined) throw refused('key is not registered', fields.principal);
  if (signature === undefined || !isSignedBy(fields.key, signed, signature)) {
    throw refused('signature does not fit', fields.principal);
  }
  const { principal, issuedAt, keyId, serial } = fields;
  if (serial !== undefined && rules.serverTokens?.isRevoked(serial) === true) {
    throw refused('its certificate was revoked', principal);
  }
  return { principal, issuedAt, ...(keyId !== undefined && { keyId }) };
}

/** Requires that the token's principal is still the one that made it. Throws `UnauthenticatedError`. */
export function requireOwnToken(
  { principal, issuedAt }: Pick<VerifiedPrincipalToken, 'principal' | 'issuedAt'>,
  snapshot: Snapshot,
): void {
  if (!isKnownIdentity(principal, snapshot)) throw refused('service is not enabled', principal);
  if (issuedAt * 1000 < credentialsOf(principal, snapshot)) {
    throw refused('issued before the service was made again', principal);
  }
}

function refused(reason: string, claimed?: PrincipalName): UnauthenticatedError {
  return new UnauthenticatedError('principal token is not valid', { detail: { reason, claimed } });
}

function readFields(signed: string, rules: PrincipalTokenRules): PrincipalTokenFields {
  const items = new Map<string, string>();
  for (const item of signed.split(';')) {
    const equals = item.indexOf('=');
    const name = item.slice(0, equals);
    // INVARIANT: a field that stands twice could be read in two ways by two readers.
    if (equals <= 0 || items.has(name)) throw refused('malformed');
    items.set(name, item.slice(equals + 1));
  }
  // `b` and the fields after it are a second signature by another service: not taken here.
  if (items.get('v') !== 'S1' || items.has('b') || items.has('bs')) throw refused('kind of token');
  const [issued, expires] = [items.get('t') ?? '', items.get('e') ?? ''];
  if (!seconds.test(issued) || !seconds.test(expires)) throw refused('malformed');
  const service = items.has('z') ? readServed(items, rules) : readService(items, rules);
  return { ...service, issuedAt: Number(issued), expiresAt: Number(expires) };
}

/** A service for which the server signed: its salt is the serial number of the certificate that came with the token. */
function readServed(items: ReadonlyMap<string, string>, { serverTokens }: PrincipalTokenRules) {
  if (serverTokens === undefined || items.get('z') !== serverSigner) throw refused('kind of token');
  const [principal, serial] = [namedService(items), items.get('a') ?? ''];
  return { principal: servicePrincipal(...principal), serial, key: serverTokens.keyOf(items.get('k') ?? '') };
}

function namedService(items: ReadonlyMap<string, string>): readonly [DomainName, ServiceName] {
  try {
    return [parseDomainName(items.get('d')), parseServiceName(items.get('n'))];
  } catch {
    throw refused('malformed');
  }
}

function readService(items: ReadonlyMap<string, string>, { snapshot, findKeyId }: PrincipalTokenRules) {
  const [domain, service] = namedService(items);
  let asked: KeyId;
  try {
    asked = parseKeyId(items.get('k') ?? '0');
  } catch {
    throw refused('malformed');
  }
  const keys = snapshot.domain(domain)?.services.get(service)?.publicKeys ?? new Map();
  const keyId = findKeyId(keys, asked);
  const pem = keys.get(keyId);
  return {
    principal: servicePrincipal(domain, service),
    keyId,
    key: pem === undefined ? undefined : registeredKey(pem),
  };
}

function isSignedBy(key: KeyObject, text: string, signature: Uint8Array): boolean {
  if (key.asymmetricKeyType !== 'rsa' && key.asymmetricKeyType !== 'ec') return false;
  try {
    return verify('sha256', Buffer.from(text, 'latin1'), key, signature);
  } catch {
    return false;
  }
}
