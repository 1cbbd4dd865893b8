import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';

/** How a server stops; all times in milliseconds. */
export interface CloseOptions {
  /** How long the port stays open after the order, so that balancers notice before connections are refused. Default 0. */
  delayMs?: number;
  /** A connection is closed when nothing was asked on it for this long: its client may be about to. Default 1,000. */
  idleMs?: number;
  /** What is left this long after the port was closed is cut. Default 9,000. */
  deadlineMs?: number;
}

/** A server that stops without cutting off a request. */
export interface GracefulServer {
  /** Whether `close` was called: say so in the answer to a readiness probe. */
  readonly isClosing: boolean;
  /**
   * Announces the end (`Connection: close`) with every answer from now on, closes the port after the delay, then each connection when
   * it is answered and idle. Fulfilled when nothing is left. Called again, it answers the same.
   */
  close(options?: CloseOptions): Promise<void>;
}

/** What is known of a connection that speaks HTTP. */
interface Connection {
  readonly open: Set<ServerResponse>;
  /** When the last answer was sent, and how much had been received then. */
  idleSince: number;
  bytes: number;
}

/** How often connections are looked at while the server stops. */
const sweepMs = 50;

/**
 * Follows the connections of a server that does not listen yet. Node's own `close` ends idle connections at once, also those
 * on which a request is just arriving, and leaves those that never finish their TLS handshake.
 */
export function gracefulServer(server: HttpServer | HttpsServer): GracefulServer {
  const accepted = new Set<Socket>();
  const connections = new Map<Socket, Connection>();
  let closed: Promise<void> | undefined;
  server.on('connection', (socket: Socket) => {
    accepted.add(socket);
    socket.once('close', () => accepted.delete(socket));
  });
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, { open: new Set(), idleSince: performance.now(), bytes: socket.bytesRead });
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    connection.open.add(response);
    if (closed !== undefined) announceEnd(connection, response);
    response.once('close', () => {
      connection.open.delete(response);
      connection.idleSince = performance.now();
      connection.bytes = socket.bytesRead;
    });
  });

  /**
   * Ends the connections on which nobody has asked for `idleMs`, and those that have not begun in that time. INVARIANT: a handshake that was
   * answered is not cut off before the deadline: for its client it may be over, and a request on the way.
   */
  function sweep(idleMs: number, since: number): void {
    const now = performance.now();
    for (const [socket, connection] of connections) {
      // What was received since the last answer is the beginning of a request.
      const isIdle = connection.open.size === 0 && socket.bytesRead === connection.bytes;
      if (isIdle && now - connection.idleSince >= idleMs) socket.destroySoon();
    }
    if (now - since < idleMs) return;
    const speaking = new Set([...connections.keys()].map(peerOf));
    for (const socket of accepted) if (socket.bytesWritten === 0 && !speaking.has(peerOf(socket))) socket.destroy();
  }

  async function close({ delayMs = 0, idleMs = 1000, deadlineMs = 9000 }: CloseOptions): Promise<void> {
    for (const connection of connections.values()) {
      for (const response of connection.open) announceEnd(connection, response);
    }
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    // Node's `close` calls it.
    server.closeIdleConnections = () => undefined;
    const since = performance.now();
    const ended = new Promise<void>((resolve) => server.close(() => resolve()));
    // Not before what has arrived is read: timers come before it, and this after.
    const look = () => setImmediate(() => sweep(idleMs, since));
    look();
    const timer = setInterval(look, sweepMs);
    const deadline = setTimeout(() => {
      for (const socket of accepted) socket.destroy();
    }, deadlineMs);
    await ended;
    clearInterval(timer);
    clearTimeout(deadline);
  }

  return {
    get isClosing() {
      return closed !== undefined;
    },
    close(options = {}) {
      if (closed === undefined) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        closed = promise;
        close(options).then(resolve, reject);
      }
      return closed;
    },
  };
}

/** Says with the last answer of a connection that it is the last one; who has sent further requests gets their answers first. */
function announceEnd(connection: Connection, response: ServerResponse): void {
  const { writeHead } = response;
  response.writeHead = (...head: unknown[]) => {
    if ([...connection.open].at(-1) === response) response.setHeader('Connection', 'close');
    return Reflect.apply(writeHead, response, head);
  };
}

/** The same text for a TLS connection and the connection below it. */
function peerOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
