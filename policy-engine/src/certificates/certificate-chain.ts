import type { X509Certificate } from 'node:crypto';

/** The most certificates that a peer may send beside its own: each costs a signature check. */
export const maxIntermediates = 8;

const clientAuth = '1.3.6.1.5.5.7.3.2';

/** Of `nameConstraints` (RFC 5280 §4.2.1.10), which are not evaluated here: who sends such a certificate proves nothing with it. */
const nameConstraints = Buffer.from('0603551d1e', 'hex');

/** A certificate and what its holder sent to lead from it to an authority. */
export interface CertificateChain {
  readonly leaf: X509Certificate;
  readonly intermediates: readonly X509Certificate[];
}

/**
 * Until when the certificate counts as issued to a client by one of the authorities, itself or over the intermediates: by signature,
 * with every issuer a CA and within its dates. `undefined` when it does not. The dates of the certificate itself are for the
 * caller to compare. Times in milliseconds since the epoch.
 */
export function issuedUntil(
  chain: CertificateChain,
  authorities: readonly X509Certificate[],
  now: number,
): number | undefined {
  const { leaf, intermediates } = chain;
  if (!isForClients(leaf) || intermediates.length > maxIntermediates) return undefined;
  const anchors = authorities.filter((authority) => mayIssue(authority, now));
  const unused = new Set(intermediates.filter((each) => mayIssue(each, now) && !each.raw.includes(nameConstraints)));
  const reached = [{ certificate: leaf, until: Number.POSITIVE_INFINITY }];
  for (const { certificate, until } of reached) {
    const anchor = anchors.find((each) => isSignedBy(certificate, each));
    if (anchor !== undefined) return Math.min(until, endOf(anchor));
    for (const issuer of unused) {
      if (!isSignedBy(certificate, issuer)) continue;
      unused.delete(issuer);
      reached.push({ certificate: issuer, until: Math.min(until, endOf(issuer)) });
    }
  }
  return undefined;
}

/** Whether the time, in milliseconds since the epoch, is within the dates of a certificate; both ends belong to it. */
export function isWithinDates(certificate: X509Certificate, now: number): boolean {
  return now >= certificate.validFromDate.getTime() && now <= endOf(certificate);
}

function endOf({ validToDate }: X509Certificate): number {
  return validToDate.getTime();
}

function isForClients({ keyUsage }: X509Certificate): boolean {
  // Node calls the extended key usages so; without any the certificate is for everything.
  return keyUsage === undefined || keyUsage.includes(clientAuth);
}

function mayIssue(certificate: X509Certificate, now: number): boolean {
  return certificate.ca && isWithinDates(certificate, now);
}

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    return false;
  }
}
