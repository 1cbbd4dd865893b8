import type { X509Certificate } from 'node:crypto';
import { mayBeLeaf, mayIssueAbove, type PathCertificate, readPathCertificate } from './path-rules.ts';

/** The most certificates that a peer may send beside its own: each costs a signature check. */
export const maxIntermediates = 8;

const clientAuth = '1.3.6.1.5.5.7.3.2';

/** A certificate and what its holder sent to lead from it to an authority. */
export interface CertificateChain {
  readonly leaf: X509Certificate;
  readonly intermediates: readonly X509Certificate[];
}

/**
 * Time until which the certificate is valid as issued to a client by one of the authorities, itself or over the intermediates: by signature,
 * with every issuer within its dates, and by the rules of RFC 5280 §6.1 that `path-rules.ts` has. `undefined` when it is not. The dates of the
 * certificate itself are for the caller to compare. Revocation lists are not read. Times in milliseconds since the epoch.
 */
export function issuedUntil(
  chain: CertificateChain,
  authorities: readonly X509Certificate[],
  now: number,
): number | undefined {
  const { leaf, intermediates } = chain;
  if (!isForClients(leaf) || intermediates.length > maxIntermediates) return undefined;
  const unused = new Set(intermediates);
  const reached = [{ certificate: leaf, below: 0, until: Number.POSITIVE_INFINITY }];
  for (const { certificate, below, until } of reached) {
    const anchor = authorities.find((each) => issues(each, certificate, { below, now }) !== undefined);
    if (anchor !== undefined) return Math.min(until, endOf(anchor));
    for (const issuer of unused) {
      const issuerFields = issues(issuer, certificate, { below, now });
      if (issuerFields === undefined || !issuerFields.hasStrongSignature) continue;
      unused.delete(issuer);
      const above = issuerFields.isSelfIssued ? below : below + 1;
      reached.push({ certificate: issuer, below: above, until: Math.min(until, endOf(issuer)) });
    }
  }
  return undefined;
}

/** The fields of an issuer that issued the certificate and may have done so; the signature first, as few have one that verifies. */
function issues(
  issuer: X509Certificate,
  certificate: X509Certificate,
  { below, now }: { readonly below: number; readonly now: number },
): PathCertificate | undefined {
  if (!isWithinDates(issuer, now) || !isSignedBy(certificate, issuer)) return undefined;
  const fields = readPathCertificate(issuer);
  return fields !== undefined && mayIssueAbove(fields, below) ? fields : undefined;
}

/** True if the time, in milliseconds since the epoch, is within the dates of a certificate; both ends are included. */
export function isWithinDates(certificate: X509Certificate, now: number): boolean {
  return now >= certificate.validFromDate.getTime() && now <= endOf(certificate);
}

function endOf({ validToDate }: X509Certificate): number {
  return validToDate.getTime();
}

function isForClients(leaf: X509Certificate): boolean {
  const fields = readPathCertificate(leaf);
  if (fields === undefined || !mayBeLeaf(fields)) return false;
  // Node calls the extended key usages so; without any the certificate is for everything.
  const { keyUsage } = leaf;
  return keyUsage === undefined || keyUsage.includes(clientAuth);
}

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    return false;
  }
}
