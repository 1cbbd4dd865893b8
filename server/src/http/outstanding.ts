import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { strangerOf } from '../budgets/client-addresses.ts';
import { piecesOf } from '../steps/json-steps.ts';
import type { AppContext, RequestState } from './context.ts';
import { TransportError } from './transport-error.ts';

/** At most what may be on its way at once: bodies that still arrive, and answers that nobody has read yet. */
export interface OutstandingLimits {
  /** Requests of one connection that have no whole answer yet. */
  readonly connectionRequests: number;
  /** Bytes of one connection; a connection with less may always begin one more. */
  readonly connectionBytes: number;
  /** Bytes of one principal, or of one network where no certificate says who calls. */
  readonly principalBytes: number;
}

/** A large answer is handed to the connection in slices of so many characters, each when the one before was taken. */
const sliceCharacters = 65_536;

/** What is on its way for one connection. */
interface Connection {
  requests: number;
  bytes: number;
  readonly held: Set<Held>;
}

/** What one request holds, until its answer was taken or its connection is gone. */
interface HeldRequest {
  /** The answer is ready: puts slices in the place of a large one. */
  answered(ctx: AppContext): void;
}

/** What the paths of requests tell. */
interface PathRules {
  /** How long the body of a request to a path may be. */
  readonly bodyLimit: (path: string) => number;
  /** Whether a path is asked by probes. */
  readonly isProbe: (path: string) => boolean;
}

/**
 * Counts what the requests of each connection and principal hold, and throws a 429 once that is over the limits. A probe without a body holds
 * nothing: what others of its address hold, as behind one balancer, does not refuse it. `leave` is called when a request is over.
 */
export function outstanding(
  limits: OutstandingLimits,
  { bodyLimit, isProbe }: PathRules,
): (ctx: AppContext, admission: { leave(): void } | undefined) => HeldRequest {
  const connections = new WeakMap<Socket, Connection>();
  const holders = new Map<string, number>();
  return (ctx, admission) => {
    const { socket } = ctx.req;
    const holder = holderOf(ctx.state);
    let connection = connections.get(socket);
    if (connection === undefined) {
      connection = connectionOf(socket);
      connections.set(socket, connection);
    }
    const held = new Held(connection, holders, holder, admission);
    ctx.res.on('close', () => held.giveBack());
    const bytes = bodyBytes(ctx, bodyLimit);
    const holdsNothing = bytes === 0 && isProbe(ctx.state.path);
    requireRoom(limits, connection, holdsNothing ? 0 : (holders.get(holder) ?? 0));
    held.take(bytes);
    return held;
  };
}

class Held implements HeldRequest {
  readonly #connection: Connection;
  readonly #holders: Map<string, number>;
  readonly #holder: string;
  readonly #admission: { leave(): void } | undefined;
  #bytes = 0;
  #isCounted = false;

  constructor(
    connection: Connection,
    holders: Map<string, number>,
    holder: string,
    admission: { leave(): void } | undefined,
  ) {
    this.#connection = connection;
    this.#holders = holders;
    this.#holder = holder;
    this.#admission = admission;
    connection.held.add(this);
  }

  /** Counts the request, with these bytes of its body. */
  take(bytes: number): void {
    this.#isCounted = true;
    this.#connection.requests += 1;
    this.#hold(bytes);
  }

  answered(ctx: AppContext): void {
    if (this.#connection.held.has(this)) this.#hold(inSlices(ctx));
  }

  giveBack(): void {
    if (!this.#connection.held.delete(this)) return;
    if (this.#isCounted) this.#connection.requests -= 1;
    this.#hold(-this.#bytes);
    this.#admission?.leave();
  }

  #hold(bytes: number): void {
    if (bytes === 0) return;
    this.#bytes += bytes;
    this.#connection.bytes += bytes;
    const sum = (this.#holders.get(this.#holder) ?? 0) + bytes;
    if (sum > 0) this.#holders.set(this.#holder, sum);
    else this.#holders.delete(this.#holder);
  }
}

/**
 * Whoever presents the certificate, whatever principal token it carries. By a copy of a token alone nobody holds anything in the name of its
 * principal, but for what comes from the same network.
 */
function holderOf({ certificate, principal, address }: RequestState): string {
  // No name holds a blank.
  return certificate?.principal.name ?? `${principal?.name ?? 'stranger'} ${strangerOf(address)}`;
}

/** An answer that waits for its turn behind others is told of no end of its connection: the connection is. */
function connectionOf(socket: Socket): Connection {
  const held = new Set<Held>();
  socket.once('close', () => {
    for (const each of held) each.giveBack();
  });
  return { requests: 0, bytes: 0, held };
}

function requireRoom(limits: OutstandingLimits, { requests, bytes }: Connection, ofHolder: number): void {
  if (requests >= limits.connectionRequests) {
    throw new TransportError(429, 'the connection has too many requests without an answer', {
      'Retry-After': '1',
      Connection: 'close',
    });
  }
  if (bytes >= limits.connectionBytes || ofHolder >= limits.principalBytes) {
    throw new TransportError(429, 'too many answers have not been read yet: read them first', { 'Retry-After': '1' });
  }
}

function bodyBytes({ req, state }: AppContext, bodyLimit: (path: string) => number): number {
  if (req.headers['transfer-encoding'] !== undefined) return bodyLimit(state.path);
  return state.announcedBytes;
}

/** Puts slices in the place of a large text or buffer. Answers how many bytes the answer holds until it is read. */
function inSlices(ctx: AppContext): number {
  const { answer } = ctx.state;
  if (answer !== undefined) return answer.text.length;
  const { body } = ctx.response;
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
