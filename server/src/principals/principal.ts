import type { X509Certificate } from 'node:crypto';
import { DerError } from '@signet/policy-engine/internal/der';
import {
  type DomainName,
  InvalidNameError,
  type PrincipalName,
  parseDomainName,
  parsePrincipalName,
  parseRoleName,
  parseServiceName,
  type RoleName,
  servicePrincipal,
} from '@signet/policy-engine/names';
import { certificateThumbprint } from '@signet/policy-engine/token';
import { credentialsOf, isKnownIdentity, requireOwnTime } from '../access/known-identity.ts';
import { UnauthenticatedError } from '../errors.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { issueTimeOf } from '../x509/build-certificate.ts';
import { altNamesOf, type ReadCertificate, readCertificate } from '../x509/certificate-reader.ts';
import { oids } from '../x509/oids.ts';

/**
 * Caller: a service or user, or the holder of a role certificate, who is not an identity
 * (docs/reference/authentication.md#who-a-certificate-names).
 */
export type Principal =
  | { readonly kind: 'identity'; readonly name: PrincipalName; readonly thumbprint?: string }
  | {
      readonly kind: 'role';
      readonly name: string;
      readonly domain: DomainName;
      readonly role: RoleName;
      readonly thumbprint: string;
      /** Holder that it was issued to, if stated, and since when (milliseconds since the epoch). */
      readonly holder?: { readonly name: PrincipalName; readonly since: number };
    };

/** A verified client certificate, read once a connection. Times in milliseconds since the epoch. */
export interface ClientCertificate {
  readonly principal: Principal;
  readonly notBefore: number;
  readonly notAfter: number;
  /** Time of issue, in whole seconds. */
  readonly issuedAt: number;
  /** Lower-case hexadecimal. */
  readonly serial: string;
  readonly der: Buffer;
}

/** Reason why a certificate names no principal; for the log. */
type CertificateFault = 'encoding' | 'authority' | 'usage' | 'subject' | 'name';

const clientAuth = '1.3.6.1.5.5.7.3.2';

/**
 * The principal of a client certificate whose chain TLS has verified: the one Subject CN, `domain.service` split at the
 * last dot or `domain:role.name`. The DER is read strictly and once; text forms of a subject, in which one value can look like two,
 * are not used. A fault when it is not a leaf for client authentication or its name is missing, double or not in the grammar.
 */
export function readClientCertificate(certificate: X509Certificate): ClientCertificate | CertificateFault {
  const read = readStrictly(certificate.raw);
  if (read === undefined) return 'encoding';
  if (certificate.ca || claimsAuthority(read)) return 'authority';
  if (certificate.keyUsage?.includes(clientAuth) !== true) return 'usage';
  const [commonName, second] = read.subjectNames.filter(({ attribute }) => attribute === 'commonName');
  if (commonName === undefined || second !== undefined) return 'subject';
  const issuedAt = issueTimeOf(read) * 1000;
  const holder = holderOf(read, issuedAt);
  const principal = principalOf(commonName.value, { thumbprint: certificateThumbprint(certificate.raw), holder });
  if (principal === undefined) return 'name';
  return {
    principal,
    notBefore: read.notBefore * 1000,
    notAfter: read.notAfter * 1000,
    issuedAt,
    serial: read.serial,
    der: certificate.raw,
  };
}

function readStrictly(der: Buffer): ReadCertificate | undefined {
  try {
    return readCertificate(der);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/** True if the basic constraints say CA, whatever the key usages say: a verifier that checks one of them only would accept it as one. */
function claimsAuthority(certificate: ReadCertificate): boolean {
  const constraints = certificate.extensions.get(oids.basicConstraints.hex);
  // SEQUENCE { cA BOOLEAN DEFAULT FALSE, … }: in DER it is empty for a leaf.
  return constraints !== undefined && !constraints.value.equals(emptySequence);
}

const emptySequence = Buffer.from([0x30, 0x00]);

const holderUri = 'athenz://principal/';

/** The one holder that a role certificate of the profile `athenz` names. */
function holderOf(certificate: ReadCertificate, since: number): NamedHolder | undefined {
  try {
    const uris = altNamesOf(certificate).filter(({ kind, value }) => kind === 'uri' && value.startsWith(holderUri));
    const [uri, ...others] = uris;
    if (uri === undefined || others.length > 0) return undefined;
    return { name: parsePrincipalName(uri.value.slice(holderUri.length)), since };
  } catch (error) {
    if (error instanceof DerError || error instanceof InvalidNameError) return undefined;
    throw error;
  }
}

type NamedHolder = NonNullable<Extract<Principal, { kind: 'role' }>['holder']>;

function principalOf(
  commonName: string,
  { thumbprint, holder }: { readonly thumbprint: string; readonly holder: NamedHolder | undefined },
): Principal | undefined {
  try {
    const colon = commonName.indexOf(':');
    if (colon >= 0) {
      if (!commonName.startsWith('role.', colon + 1)) return undefined;
      const domain = parseDomainName(commonName.slice(0, colon));
      const role = parseRoleName(commonName.slice(colon + 6));
      const name = `${domain}:role.${role}`;
      return { kind: 'role', name, domain, role, thumbprint, ...(holder !== undefined && { holder }) };
    }
    const dot = commonName.lastIndexOf('.');
    if (dot < 0) return undefined;
    const domain = parseDomainName(commonName.slice(0, dot));
    const service = parseServiceName(commonName.slice(dot + 1));
    return { kind: 'identity', name: parsePrincipalName(servicePrincipal(domain, service)), thumbprint };
  } catch {
    return undefined;
  }
}

/** Predicate: a certificate with this serial number was revoked. */
export type IsRevoked = (serial: string) => boolean;

/**
 * Checks what can change while a connection lives: the certificate's dates, whether it was revoked, and the state of who it names.
 * Throws `UnauthenticatedError`.
 */
export function checkClientCertificate(
  certificate: ClientCertificate,
  snapshot: Snapshot,
  isRevoked: IsRevoked,
  now: number,
): Principal {
  const { principal } = certificate;
  if (isRevoked(certificate.serial)) {
    throw new UnauthenticatedError('client certificate was revoked', { detail: { claimed: principal.name } });
  }
  if (now < certificate.notBefore || now > certificate.notAfter) {
    const reason = now < certificate.notBefore ? 'it is not valid yet, check the clocks' : 'it has expired, renew it';
    throw new UnauthenticatedError(`client certificate is not valid now: ${reason}`, {
      detail: { claimed: principal.name },
    });
  }
  requireStanding(certificate, snapshot);
  return principal;
}

/** The certificates whose principal a snapshot knows, as it will for as long as it is in force. */
const standing = new WeakMap<Snapshot, WeakSet<ClientCertificate>>();

/** Requires an active principal. The result depends on certificate and snapshot alone, so each pair is checked once. */
function requireStanding(certificate: ClientCertificate, snapshot: Snapshot): void {
  const known = standing.get(snapshot);
  if (known?.has(certificate) === true) return;
  const { principal } = certificate;
  if (!isKnown(principal, snapshot)) {
    throw new UnauthenticatedError(
      'client certificate names no enabled service: its domain must have the service, enabled',
      {
        detail: { claimed: principal.name },
      },
    );
  }
  requireOwnTime(principal.name, certificate.issuedAt, credentialsFrom(principal, snapshot));
  if (known === undefined) standing.set(snapshot, new WeakSet([certificate]));
  else known.add(certificate);
}

function credentialsFrom(principal: Principal, snapshot: Snapshot): number {
  if (principal.kind === 'role') return snapshot.domain(principal.domain)?.credentialsFrom ?? 0;
  return credentialsOf(principal.name, snapshot);
}

/**
 * docs/reference/authentication.md#disabled-deleted-revoked. A service must be registered and enabled, and its domain enabled; users
 * (`user.<name>`) are not kept here, their certificate alone speaks for them; for a role certificate, the domain must be enabled.
 */
function isKnown(principal: Principal, snapshot: Snapshot): boolean {
  if (principal.kind === 'role') return snapshot.domain(principal.domain) !== undefined;
  return isKnownIdentity(principal.name, snapshot);
}
