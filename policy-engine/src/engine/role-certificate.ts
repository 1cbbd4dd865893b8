import { issuedUntil, isWithinDates } from '../certificates/certificate-chain.ts';
import { parseAuthorities, parseChain } from '../certificates/read-certificates.ts';
import type { Status } from '../policy/index.ts';

/** Content of a role certificate: its role, or the status that refuses it. */
type RoleCertificate = { kind: 'role'; domain: string; role: string } | { kind: 'refused'; status: Status };

/**
 * Reads domain and role from the common name `domain:role.name` of a role certificate that one of the authorities issued. All is
 * checked here, signatures and dates: a connection outlives a certificate, and where renegotiation is allowed the TLS layer
 * vouches for another one than it answers. Throws `PolicyEngineError('invalid-options')` for authorities that are none.
 */
export function readRoleCertificate(certificate: unknown, now: number, authorities: unknown): RoleCertificate {
  const chain = parseChain(certificate);
  if (chain === undefined) return refused('DENY_CERT_MISSING_SUBJECT');
  const { leaf } = chain;
  if (issuedUntil(chain, parseAuthorities(authorities), now) === undefined) return refused('DENY_CERT_MISMATCH_ISSUER');
  if (!isWithinDates(leaf, now)) return refused('DENY_TOKEN_EXPIRED');
  const name: unknown = leaf.toLegacyObject().subject?.CN;
  // Several common names come as a list, which is ambiguous.
  if (typeof name !== 'string' || name === '') return refused('DENY_CERT_MISSING_SUBJECT');
  const [domain, role, ...others] = name.split(':role.');
  if (role === undefined || role === '' || others.length > 0) return refused('DENY_CERT_MISSING_ROLE_NAME');
  if (domain === undefined || domain === '') return refused('DENY_CERT_MISSING_DOMAIN');
  return { kind: 'role', domain, role };
}

function refused(status: Status): RoleCertificate {
  return { kind: 'refused', status };
}
