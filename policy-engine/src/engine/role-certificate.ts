import { X509Certificate } from 'node:crypto';
import type { Status } from '../policy/index.ts';
import { certificateDer } from '../token/thumbprint.ts';

/** What a role certificate says: its role, or the status that refuses it. */
export type RoleCertificate = { kind: 'role'; domain: string; role: string } | { kind: 'refused'; status: Status };

/**
 * Reads domain and role from the common name `domain:role.name` of a role certificate. The chain must have been verified
 * by the TLS layer; the dates are checked here, as a connection can outlive a certificate. Never throws.
 */
export function readRoleCertificate(
  certificate: unknown,
  now: number,
  issuers: readonly string[] | undefined,
): RoleCertificate {
  const parsed = parse(certificate);
  if (parsed === undefined) return refused('DENY_CERT_MISSING_SUBJECT');
  if (issuers !== undefined && !issuers.some((issuer) => sameName(issuer, parsed.issuer))) {
    return refused('DENY_CERT_MISMATCH_ISSUER');
  }
  if (now < parsed.validFromDate.getTime() || now > parsed.validToDate.getTime()) return refused('DENY_TOKEN_EXPIRED');
  const name: unknown = parsed.toLegacyObject().subject?.CN;
  // Several common names come as a list: nobody could say which one is meant.
  if (typeof name !== 'string' || name === '') return refused('DENY_CERT_MISSING_SUBJECT');
  const [domain, role, ...others] = name.split(':role.');
  if (role === undefined || role === '' || others.length > 0) return refused('DENY_CERT_MISSING_ROLE_NAME');
  if (domain === undefined || domain === '') return refused('DENY_CERT_MISSING_DOMAIN');
  return { kind: 'role', domain, role };
}

function parse(certificate: unknown): X509Certificate | undefined {
  const der = certificateDer(certificate);
  if (der === undefined) return undefined;
  try {
    return new X509Certificate(der);
  } catch {
    return undefined;
  }
}

/** Two distinguished names are the same when their parts are, in any order; parts stand on lines or between commas. */
function sameName(wanted: string, actual: string): boolean {
  return nameParts(wanted) === nameParts(actual);
}

function nameParts(name: string): string {
  return name
    .split(/\n|,(?=\s*[A-Za-z0-9.]+=)/)
    .map((part) => part.trim())
    .sort()
    .join('\n');
}

function refused(status: Status): RoleCertificate {
  return { kind: 'refused', status };
}
