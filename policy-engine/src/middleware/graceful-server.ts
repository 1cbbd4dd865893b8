import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { Clock } from '../clock.ts';

/** Timing of a server's shutdown, in milliseconds. */
export interface CloseOptions {
  /** Delay before the port closes, so that balancers notice before connections are refused. Default 0. */
  delayMs?: number;
  /**
   * A connection is closed when nothing was asked on it for this long: its client may be about to. Longer for a client whose requests
   * came further apart, up to the deadline. Default 1,000.
   */
  idleMs?: number;
  /** Deadline after the port was closed; remaining connections are then cut. Default 9,000. */
  deadlineMs?: number;
}

/** A server that stops without cutting off a request. */
export interface GracefulServer {
  /** True once `close` was called: report it in the answer to a readiness probe. */
  readonly isClosing: boolean;
  /**
   * Announces the end (`Connection: close`) with every answer from now on, closes the port after the delay, then each connection when
   * it is answered and idle. Fulfilled when nothing is left. Called again, it answers the same.
   */
  close(options?: CloseOptions): Promise<void>;
}

/** State of a connection that speaks HTTP. */
interface Connection {
  readonly open: Set<ServerResponse>;
  /** Time of the last answer, and the bytes received until then. */
  idleSince: number;
  bytes: number;
  /** Pause of the client between its last requests; before the first one, the duration of the handshake. */
  pauseMs: number;
}

/** Interval of checks of the connections while the server stops. */
const sweepMs = 50;
/** Number of its pauses within which a client that goes on as before asks again. */
const pausesToWait = 3;

/**
 * Follows the connections of a server that does not listen yet. Node's own `close` ends idle connections at once, also those on which a request
 * is just arriving, and leaves those that never finish their TLS handshake. `monotonic` is a clock that is never set, in milliseconds.
 */
export function gracefulServer(
  server: HttpServer | HttpsServer,
  monotonic: Clock = { now: () => performance.now() },
): GracefulServer {
  let closed: Promise<void> | undefined;
  const following = followConnections(server, monotonic, () => closed !== undefined);
  return {
    get isClosing() {
      return closed !== undefined;
    },
    close(options = {}) {
      if (closed === undefined) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        closed = promise;
        close(server, following, monotonic, options).then(resolve, reject);
      }
      return closed;
    },
  };
}

/** The connections of a server. */
interface Following {
  readonly accepted: ReadonlySet<Socket>;
  /** Connections that speak HTTP. */
  readonly connections: ReadonlyMap<Socket, Connection>;
}

function followConnections(server: HttpServer, monotonic: Clock, isClosing: () => boolean): Following {
  const accepted = new Set<Socket>();
  /** Times of acceptance, by both ends: a socket of TLS does not tell which one it is over. */
  const beginning = new Map<string, number>();
  const connections = new Map<Socket, Connection>();
  server.on('connection', (socket: Socket) => {
    const [peer, now] = [peerOf(socket), monotonic.now()];
    accepted.add(socket);
    beginning.set(peer, now);
    socket.once('close', () => {
      accepted.delete(socket);
      beginning.delete(peer);
    });
  });
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    const idleSince = monotonic.now();
    const pauseMs = idleSince - (beginning.get(peerOf(socket)) ?? idleSince);
    connections.set(socket, { open: new Set(), idleSince, bytes: socket.bytesRead, pauseMs });
    socket.once('close', () => connections.delete(socket));
  });
  // Prepended: the listener that answers may do so at once.
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    // A longer pause in the past decays gradually.
    if (connection.open.size === 0) {
      connection.pauseMs = Math.max(monotonic.now() - connection.idleSince, connection.pauseMs / 2);
    }
    connection.open.add(response);
    if (isClosing()) announceEnd(connection, response);
    response.on('close', () => {
      connection.open.delete(response);
      connection.idleSince = monotonic.now();
      connection.bytes = socket.bytesRead;
    });
  });
  return { accepted, connections };
}

async function close(
  server: HttpServer,
  following: Following,
  monotonic: Clock,
  { delayMs = 0, idleMs = 1000, deadlineMs = 9000 }: CloseOptions,
): Promise<void> {
  for (const connection of following.connections.values()) {
    for (const response of connection.open) announceEnd(connection, response);
  }
  await new Promise((resolve) => setTimeout(resolve, delayMs));
  // Connections made while this process was busy are accepted first: closing the port resets those that wait at it. Timers come before that, and
  // `setImmediate` after.
  await new Promise((resolve) => setImmediate(resolve));
  // Node's `close` calls it.
  server.closeIdleConnections = () => undefined;
  const since = monotonic.now();
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  // Checked only after the arrived data is read, as above.
  const look = () => {
    const now = monotonic.now();
    setImmediate(() => sweep(following, now, { idleMs, deadlineMs, since }));
  };
  look();
  const timer = setInterval(look, sweepMs);
  const deadline = setTimeout(() => {
    for (const socket of following.accepted) socket.destroy();
  }, deadlineMs);
  await ended;
  clearInterval(timer);
  clearTimeout(deadline);
}

/**
 * Ends the connections without a request for `idleMs`, and those that have not begun in that time. What arrived before `now` has been read.
 * INVARIANT: a handshake that was answered is not cut off before the deadline: for its client it may be over, and a request on the way.
 */
function sweep(
  { accepted, connections }: Following,
  now: number,
  { idleMs, deadlineMs, since }: { readonly idleMs: number; readonly deadlineMs: number; readonly since: number },
): void {
  for (const [socket, connection] of connections) {
    // Bytes received since the last answer are the beginning of a request.
    const isIdle = connection.open.size === 0 && socket.bytesRead === connection.bytes;
    const usualMs = connection.pauseMs * pausesToWait;
    const waitMs = usualMs <= deadlineMs ? Math.max(idleMs, usualMs) : idleMs;
    if (isIdle && now - connection.idleSince >= waitMs) socket.destroySoon();
  }
  if (now - since < idleMs) return;
  const speaking = new Set([...connections.keys()].map(peerOf));
  for (const socket of accepted) if (socket.bytesWritten === 0 && !speaking.has(peerOf(socket))) socket.destroy();
}

/** Announces with the last answer of a connection that it is the last one; further requests that were already sent are answered first. */
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
