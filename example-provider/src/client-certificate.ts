import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Clock } from '@signet/policy-engine/clock';
import { type PrincipalName, parsePrincipalName, splitPrincipal } from '@signet/policy-engine/names';

/** The verified certificate of a connection. */
export interface ClientCertificate {
  readonly certificate: X509Certificate;
  /** The service that the subject names; absent when it names none, as in a role certificate. */
  readonly principal?: PrincipalName;
}

/** Finds the certificate of the connection that a request came on. */
export type CertificateReader = (request: IncomingMessage) => ClientCertificate | undefined;

/**
 * Reads client certificates: only those that the TLS layer verified, and that are still within their dates, since a kept-alive
 * connection may outlive its certificate. Reading one costs more than a decision, so each connection's is read once.
 */
export function createCertificateReader(clock: Clock): CertificateReader {
  const bySocket = new WeakMap<TLSSocket, ClientCertificate>();
  return ({ socket }) => {
    if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
    const found = bySocket.get(socket) ?? readCertificate(socket);
    if (found === undefined) return undefined;
    bySocket.set(socket, found);
    return found.certificate.validToDate.getTime() > clock.now() ? found : undefined;
  };
}

function readCertificate(socket: TLSSocket): ClientCertificate | undefined {
  const peer = socket.getPeerCertificate();
  if (!(peer.raw instanceof Uint8Array)) return undefined;
  const certificate = new X509Certificate(peer.raw);
  const principal = subjectPrincipal(peer.subject?.CN);
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
