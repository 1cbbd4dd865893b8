import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@signet/policy-engine/clock';
import { certificateProblem, nodeRequests } from '@signet/policy-engine/http';
import { type PrincipalName, parsePrincipalName, splitPrincipal } from '@signet/policy-engine/names';

/** The verified certificate of a connection. */
interface ClientCertificate {
  readonly certificate: X509Certificate;
  /** The service that the subject names; absent when it names none, as in a role certificate. */
  readonly principal?: PrincipalName;
}

/** What the caller is told of a connection that has no valid certificate. */
interface NoCertificate {
  readonly certificate?: never;
  readonly principal?: never;
  readonly problem: string;
}

/** Finds the certificate of the connection that a request came on. */
export type CertificateReader = (request: IncomingMessage) => ClientCertificate | NoCertificate;

/**
 * Reader of client certificates: only valid ones on their connection (`nodeRequests`), while it `isTrusted`. The
 * subject is parsed once a certificate.
 */
export function createCertificateReader(clock: Clock, isTrusted: (connection: Socket) => boolean): CertificateReader {
  const read = nodeRequests({ clock });
  const known = new WeakMap<X509Certificate, ClientCertificate>();
  return (request) => {
    const { peer } = read(request);
    const { certificate } = peer;
    if (!(certificate instanceof X509Certificate)) return { problem: String(certificateProblem(peer)) };
    if (!isTrusted(request.socket)) return { problem: String(certificateProblem({ certificateRefused: true })) };
    const found = known.get(certificate) ?? readCertificate(certificate);
    known.set(certificate, found);
    return found;
  };
}

function readCertificate(certificate: X509Certificate): ClientCertificate {
  const principal = subjectPrincipal(certificate.toLegacyObject().subject?.CN);
  return { certificate, ...(principal !== undefined && { principal }) };
}

/** `domain.service` of the one common name; Node answers an array when there are several. */
function subjectPrincipal(commonName: unknown): PrincipalName | undefined {
  if (typeof commonName !== 'string' || !commonName.includes('.')) return undefined;
  try {
    const principal = parsePrincipalName(commonName);
    return splitPrincipal(principal) === undefined ? undefined : principal;
  } catch {
    return undefined;
  }
}
