import { EventEmitter } from 'node:events';

/** Both ends of a connection; a Unix socket has none. */
interface Ends {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

/**
 * Generation of the authorities (number of removals) when the handshake of each connection began. Servers are followed from the first request
 * on.
 */
export class Handshakes {
  readonly #generation: () => number;
  readonly #servers = new WeakMap<EventEmitter, Followed>();
  readonly #begun = new WeakMap<object, number>();

  constructor(generation: () => number) {
    this.#generation = generation;
  }

  /** 0 for a connection that was there before its server was followed, and for one without addresses, as of a Unix socket. */
  generationOf(socket: Ends): number {
    const server: unknown = Reflect.get(socket, 'server');
    if (!(server instanceof EventEmitter)) return 0;
    const connection = this.#follow(server).below(socket);
    return (connection && this.#begun.get(connection)) ?? 0;
  }

  #follow(server: EventEmitter): Followed {
    const known = this.#servers.get(server);
    if (known !== undefined) return known;
    const following = followedOf(server);
    following.onConnection((connection) => this.#begun.set(connection, this.#generation()));
    this.#servers.set(server, following);
    return following;
  }
}

/** Each server is followed once, for all the middleware on it: the routes of a service may be many. */
const followed = new WeakMap<EventEmitter, Followed>();

function followedOf(server: EventEmitter): Followed {
  const known = followed.get(server) ?? new Followed(server);
  followed.set(server, known);
  return known;
}

/** The connections of a server, below those of TLS. */
class Followed {
  readonly #listeners: ((connection: object) => void)[] = [];
  /**
   * Connections by both ends: a TLS connection is another object than the one below it. INVARIANT: those without ends are not here, lest one
   * passes for another.
   */
  readonly #connections = new Map<string, object>();

  constructor(server: EventEmitter) {
    server.on('connection', (socket: Ends & EventEmitter) => {
      for (const listener of this.#listeners) listener(socket);
      const ends = endsOf(socket);
      if (ends === undefined) return;
      this.#connections.set(ends, socket);
      socket.once('close', () => this.#connections.delete(ends));
    });
  }

  onConnection(listener: (connection: object) => void): void {
    this.#listeners.push(listener);
  }

  below(socket: Ends): object | undefined {
    const ends = endsOf(socket);
    return ends === undefined ? undefined : this.#connections.get(ends);
  }
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Ends): string | undefined {
  if (remotePort === undefined) return undefined;
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
