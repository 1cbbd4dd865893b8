import type { X509Certificate } from 'node:crypto';

const unknownAuthority = 'it was not issued by a trusted authority';
const incompleteChain = 'its issuer is not known here, send the intermediate certificate with it';

/** OpenSSL verification errors, and their text for the sender of the chain. */
const reasons: ReadonlyMap<string, string> = new Map([
  // OpenSSL found no second certificate of the chain: the holder of a valid certificate who sends it alone needs this text.
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', incompleteChain],
  ['UNABLE_TO_GET_ISSUER_CERT', unknownAuthority],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', unknownAuthority],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', unknownAuthority],
  ['SELF_SIGNED_CERT_IN_CHAIN', unknownAuthority],
  ['CERT_SIGNATURE_FAILURE', 'a signature of its chain is not that of its issuer'],
  ['INVALID_PURPOSE', 'it, or its issuer, is not for client authentication'],
  ['CERT_REVOKED', 'it was revoked'],
]);

const base = 'client certificate is not valid';

/**
 * Reason why a client certificate is refused, as far as its holder knows it anyway: the content of its own certificate, and that the server does
 * not trust its chain. A small set of texts, since they are counted. `now` in milliseconds since the epoch.
 */
export function certificateRefusal(certificate: X509Certificate, code: string, now: number): string {
  const reason = reasonOf(certificate, code, now);
  return reason === undefined ? base : `${base}: ${reason}`;
}

function reasonOf({ validFromDate, validToDate }: X509Certificate, code: string, now: number): string | undefined {
  if (code === 'CERT_HAS_EXPIRED') {
    return validToDate.getTime() < now ? 'it has expired, renew it' : 'a certificate of its chain has expired';
  }
  if (code === 'CERT_NOT_YET_VALID') {
    return validFromDate.getTime() > now
      ? 'it is not valid yet, check the clocks'
      : 'a certificate of its chain is not valid yet';
  }
  return reasons.get(code);
}
