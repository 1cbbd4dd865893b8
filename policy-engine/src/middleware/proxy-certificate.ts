import { isWithinDates } from '../certificates/certificate-chain.ts';
import { parseChain } from '../certificates/read-certificates.ts';
import { withoutCertificate } from '../policy/index.ts';
import type { CertificateInput } from '../token/index.ts';

/** Connection facts known before the request is read. */
export interface Peer {
  /**
   * The client certificate of the connection; absent when none was sent, it did not verify, it is not within its dates, or the
   * connection may have changed it.
   */
  certificate?: CertificateInput;
  /** True if a certificate was sent and is not valid, so that `certificate` is absent: the caller is told so. */
  certificateRefused?: boolean;
  /** The address of the other end. */
  address?: string;
}

/** Proxies that end TLS for this service and pass the client's certificate on (RFC 9440). Both lists are exact; each address counts in every way to write it. */
export interface TrustedProxies {
  /** base64url SHA-256 thumbprints of the proxies' own client certificates. */
  thumbprints?: readonly string[];
  /** Addresses of proxies that connect without a certificate, e.g. `127.0.0.1` for a side-car. */
  addresses?: readonly string[];
}

export type ClientCertificate =
  | { kind: 'certificate'; certificate: CertificateInput }
  | { kind: 'none' }
  /** One was sent that is not valid. */
  | { kind: 'refused' }
  /** A trusted proxy sent a header that cannot be read. */
  | { kind: 'malformed' };

/** Structured field byte sequence (RFC 8941 §3.3.5): base64 between colons. */
const byteSequence = /^:([A-Za-z0-9+/]+={0,2}):$/;

/**
 * The client's certificate: that of the connection, or, when the connection comes from a trusted proxy, the one in its
 * `Client-Cert` header, while it is within its dates. The header of anybody else is ignored.
 */
export function clientCertificate(
  peer: Peer,
  header: string | readonly string[] | undefined,
  isTrustedProxy: boolean,
  now: number,
): ClientCertificate {
  if (!isTrustedProxy) {
    if (peer.certificate !== undefined) return { kind: 'certificate', certificate: peer.certificate };
    return { kind: peer.certificateRefused === true ? 'refused' : 'none' };
  }
  if (header === undefined) return { kind: 'none' };
  const match = typeof header === 'string' ? byteSequence.exec(header.trim()) : null;
  const der = match?.[1] === undefined ? undefined : decodeBase64(match[1]);
  if (der === undefined) return { kind: 'malformed' };
  // The proxy's connection to the client may have outlived the certificate too.
  return isPastItsDates(der, now) ? { kind: 'refused' } : { kind: 'certificate', certificate: der };
}

/** What a caller is told whose connection has no valid certificate; undefined if it has one. */
export function certificateProblem({ certificate, certificateRefused }: Peer): string | undefined {
  if (certificate !== undefined) return undefined;
  return certificateProblems[certificateRefused === true ? 'refused' : 'none'];
}

/** The same by the kind of `ClientCertificate`. */
export const certificateProblems = {
  none: withoutCertificate,
  refused: 'the client certificate of the request is not valid here',
};

/** True if the certificate is outside its dates. Anything else has no dates, and no token is bound to it either. */
function isPastItsDates(der: Uint8Array, now: number): boolean {
  const certificate = parseChain(der)?.leaf;
  return certificate !== undefined && !isWithinDates(certificate, now);
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
