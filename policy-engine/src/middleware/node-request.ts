import type { ProtectedRequest } from './authorize.ts';
import type { Peer } from './proxy-certificate.ts';

/** The part of a TLS socket of Node that the middleware reads; a plain socket has only the address. */
interface NodeSocket {
  readonly remoteAddress?: string | undefined;
  readonly authorized?: boolean;
  getPeerCertificate?(): { raw?: Uint8Array };
}

/** The part of `IncomingMessage` that the middleware reads. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headersDistinct: { readonly [name: string]: readonly string[] | undefined };
  readonly socket: NodeSocket;
}

/**
 * Turns Node requests into what `authorize` takes. Reading a peer certificate costs more than a decision, so it is done
 * once a connection; only a certificate that the TLS layer verified (`authorized`) counts.
 */
export function nodeRequests(): (request: NodeRequest) => ProtectedRequest {
  const peers = new WeakMap<NodeSocket, Peer>();
  const peerOf = (socket: NodeSocket): Peer => {
    const known = peers.get(socket);
    if (known !== undefined) return known;
    const peer = readPeer(socket);
    peers.set(socket, peer);
    return peer;
  };
  return (request) => ({
    method: request.method ?? '',
    target: request.url ?? '',
    header: (name) => request.headersDistinct[name] ?? [],
    peer: peerOf(request.socket),
  });
}

function readPeer(socket: NodeSocket): Peer {
  const raw = socket.authorized === true ? socket.getPeerCertificate?.().raw : undefined;
  return {
    ...(socket.remoteAddress !== undefined && { address: socket.remoteAddress }),
    ...(raw !== undefined && { certificate: { raw } }),
  };
}
