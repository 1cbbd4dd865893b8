import type { X509Certificate } from 'node:crypto';
import { ConnectionCertificates, type ConnectionOptions, type NodeSocket } from './connection-certificate.ts';
import type { ProtectedRequest } from './protect-options.ts';

/** The part of `IncomingMessage` or `Http2ServerRequest` that the middleware reads. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Headers as received, names and values alternating: the only form in which HTTP/2 requests keep repeated headers apart. */
  readonly rawHeaders: readonly string[];
  readonly headersDistinct?: { readonly [name: string]: readonly string[] | undefined };
  readonly socket: NodeSocket;
  /** HTTP/2: the connection is that of the session; `socket` is another object for each request. */
  readonly stream?: { readonly session?: object | undefined };
}

interface SeenNodeRequest extends ProtectedRequest {
  readonly peer: ProtectedRequest['peer'] & { readonly certificate?: X509Certificate };
}

/**
 * Turns requests of Node, HTTP/1 and HTTP/2, into what `authorize` takes. The certificate of the connection is there only when it
 * counts: verified, within its dates, and sure to be that of the connection (`authorities` and `secureServerOptions`).
 * Throws `PolicyEngineError('invalid-options')` for authorities that are none.
 */
export function nodeRequests(options: ConnectionOptions = {}): (request: NodeRequest) => SeenNodeRequest {
  const certificates = new ConnectionCertificates(options);
  return (request) => {
    const { socket } = request;
    const certificate = certificates.of(socket, request.stream?.session);
    const address = socket.remoteAddress;
    return {
      method: request.method ?? '',
      target: request.url ?? '',
      header: (name) => (request.headersDistinct ? (request.headersDistinct[name] ?? []) : valuesOf(request, name)),
      peer: {
        ...(address !== undefined && { address }),
        ...(certificate === undefined ? refusedOf(certificates, request) : { certificate }),
      },
    };
  };
}

function refusedOf(certificates: ConnectionCertificates, { socket, stream }: NodeRequest) {
  return certificates.isPresented(socket, stream?.session) ? { certificateRefused: true } : {};
}

function valuesOf({ rawHeaders }: NodeRequest, name: string): readonly string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}
