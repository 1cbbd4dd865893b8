import type { Socket } from 'node:net';
import { strangerOf } from '../budgets/client-addresses.ts';
import type { AppContext, RequestState } from './context.ts';
import { answerInSlices, sliceCharacters } from './slices.ts';
import { TransportError } from './transport-error.ts';

/** Limits of data in flight: bodies that still arrive, and answers not yet read by their clients. */
export interface OutstandingLimits {
  /** Requests of one connection that have no whole answer yet. */
  readonly connectionRequests: number;
  /** Bytes of one connection; a connection with less may always begin one more. */
  readonly connectionBytes: number;
  /** Bytes of one principal, or of one network where no certificate says who calls. */
  readonly principalBytes: number;
}

/** What is on its way for one connection. */
interface Connection {
  requests: number;
  bytes: number;
  readonly held: Set<Held>;
}

/** Share of one request, until its answer was taken or its connection is gone. */
interface HeldRequest {
  /** The answer is ready: puts slices in the place of a large one. */
  answered(ctx: AppContext): void;
}

/** Properties of requests by path. */
interface PathRules {
  /** Maximum length of a request's body, by path. */
  readonly bodyLimit: (path: string) => number;
  /** True if a path serves probes. */
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
 * Holder of the share: the presenter of the certificate, whatever principal token it carries. A copied token alone uses nothing of its
 * principal's share but that of the same network.
 */
function holderOf({ certificate, principal, address }: RequestState): string {
  // Unambiguous: no name holds a blank.
  return certificate?.principal.name ?? `${principal?.name ?? 'stranger'} ${strangerOf(address)}`;
}

/**
 * Connection of a socket. An answer that waits for its turn behind others gets no event for the connection's end, so the connection itself is
 * watched.
 */
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

/** Has a large text or buffer answered in slices. Answers how many bytes the answer holds until it is read. */
function inSlices(ctx: AppContext): number {
  const { answer, isSharedAnswer } = ctx.state;
  if (answer !== undefined) return answer.text.length;
  const { body } = ctx.response;
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    if (body.length <= sliceCharacters) return body.length;
    answerInSlices(ctx, typeof body === 'string' ? body : [body]);
  }
  const length = ctx.length ?? 0;
  return isSharedAnswer === true ? Math.min(length, sliceCharacters) : length;
}
