import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { piecesOf } from '../steps/json-steps.ts';
import type { AppContext, Middleware } from './context.ts';
import { TransportError } from './transport-error.ts';

/** At most what may be on its way at once: bodies that still arrive, and answers that nobody has read yet. */
export interface OutstandingLimits {
  /** Requests of one connection that have no whole answer yet. */
  readonly connectionRequests: number;
  /** Bytes of one connection; a connection with less may always begin one more. */
  readonly connectionBytes: number;
  /** Bytes of one principal, or of one address where nobody has to say who calls. */
  readonly principalBytes: number;
}

/** A large answer is handed to the connection in slices of so many characters, each when the one before was taken. */
const sliceCharacters = 65_536;

/** What is on its way for one connection. */
interface Connection {
  requests: number;
  bytes: number;
  /** Gives back what its requests hold. */
  readonly held: Set<() => void>;
}

/**
 * Counts what the requests of each connection and principal hold, and refuses more with 429 once that is over the limits. `bodyLimit` says
 * what a body of unknown length may have.
 */
export function outstanding(limits: OutstandingLimits, bodyLimit: (path: string) => number): Middleware {
  const connections = new WeakMap<Socket, Connection>();
  const principals = new Map<string, number>();
  const addTo = (principal: string, bytes: number) => {
    const sum = (principals.get(principal) ?? 0) + bytes;
    if (sum > 0) principals.set(principal, sum);
    else principals.delete(principal);
  };
  return async (ctx, next) => {
    const { socket } = ctx.req;
    const principal = ctx.state.principal?.name ?? socket.remoteAddress ?? '';
    const connection = connections.get(socket) ?? connectionOf(socket);
    connections.set(socket, connection);
    requireRoom(limits, connection, principals.get(principal) ?? 0);
    let bytes = 0;
    const hold = (more: number) => {
      bytes += more;
      connection.bytes += more;
      addTo(principal, more);
    };
    const giveBack = () => {
      if (!connection.held.delete(giveBack)) return;
      connection.requests -= 1;
      hold(-bytes);
    };
    connection.held.add(giveBack);
    connection.requests += 1;
    hold(bodyBytes(ctx, bodyLimit));
    ctx.res.on('close', giveBack);
    await next();
    if (connection.held.has(giveBack)) hold(inSlices(ctx));
  };
}

/** An answer that waits for its turn behind others is told of no end of its connection: the connection is. */
function connectionOf(socket: Socket): Connection {
  const held = new Set<() => void>();
  socket.once('close', () => {
    for (const giveBack of held) giveBack();
  });
  return { requests: 0, bytes: 0, held };
}

function requireRoom(limits: OutstandingLimits, { requests, bytes }: Connection, ofPrincipal: number): void {
  if (requests >= limits.connectionRequests) {
    throw new TransportError(429, 'the connection has too many requests without an answer', {
      'Retry-After': '1',
      Connection: 'close',
    });
  }
  if (bytes >= limits.connectionBytes || ofPrincipal >= limits.principalBytes) {
    throw new TransportError(429, 'too many answers have not been read yet: read them first', { 'Retry-After': '1' });
  }
}

function bodyBytes({ req, path }: AppContext, bodyLimit: (path: string) => number): number {
  if (req.headers['transfer-encoding'] !== undefined) return bodyLimit(path);
  return Number(req.headers['content-length'] ?? 0);
}

/** Puts slices in the place of a large text or buffer. Answers how many bytes the answer holds until it is read. */
function inSlices(ctx: AppContext): number {
  const { body } = ctx;
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return 0;
  if (body.length <= sliceCharacters) return body.length;
  const { length } = ctx;
  const type = ctx.res.getHeader('Content-Type');
  ctx.body = Readable.from(slicesOf(body), { objectMode: false });
  if (type !== undefined) ctx.res.setHeader('Content-Type', type);
  ctx.length = length ?? Buffer.byteLength(body);
  return ctx.state.isSharedAnswer === true ? sliceCharacters : body.length;
}

function* slicesOf(body: string | Buffer): Generator<Buffer> {
  if (typeof body === 'string') {
    for (const piece of piecesOf(body, sliceCharacters)) yield Buffer.from(piece);
    return;
  }
  for (let at = 0; at < body.length; at += sliceCharacters) yield body.subarray(at, at + sliceCharacters);
}
