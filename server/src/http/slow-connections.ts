import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { ServerConfig } from '../config/config.ts';
import type { Logger } from '../logger.ts';

export interface SlowConnectionOptions {
  /** Maximum time in which a connection takes nothing of an answer that waits to be read. */
  readonly stallMs: number;
  /** Maximum time for reading an answer, from its first byte to its last. */
  readonly answerMs: number;
  /** Maximum time of a connection without a request. */
  readonly idleMs: number;
  /** A clock that only goes forward, in milliseconds. */
  readonly now: () => number;
  readonly onClose: (reason: 'answer not read' | 'answer read too slowly' | 'idle') => void;
}

/** State of a connection. */
interface Watched {
  /** Answers in the order of the requests: only the first is being written. */
  readonly answers: ServerResponse[];
  /** Time of the last request's end. */
  idleSince: number;
  /** Since when its first answer is being written. */
  writingSince: number | undefined;
  /** Bytes taken so far, and the time of the last ones. */
  taken: number;
  takenAt: number;
}

const sweepMs = 1000;

/**
 * Closes connections whose client does not read what it asked for, reads it a byte at a time, or keeps them open without a request by other
 * means than silence, for which Node has a timeout of its own: a line end between two requests ends that timeout.
 */
export class SlowConnections {
  readonly #connections = new Map<Socket, Watched>();
  readonly #options: SlowConnectionOptions;

  constructor(options: SlowConnectionOptions) {
    this.#options = options;
  }

  /** Watches the connections of a server until it is closed. */
  watch(server: Server): void {
    server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => this.met(socket));
    server.on('request', (request: IncomingMessage, answer: ServerResponse) => this.asked(request.socket, answer));
    const timer = setInterval(() => this.sweep(), sweepMs);
    timer.unref();
    server.once('close', () => clearInterval(timer));
  }

  met(socket: Socket): void {
    const now = this.#options.now();
    this.#connections.set(socket, { answers: [], idleSince: now, writingSince: undefined, taken: 0, takenAt: now });
    socket.once('close', () => this.#connections.delete(socket));
  }

  asked(socket: Socket, answer: ServerResponse): void {
    const watched = this.#connections.get(socket);
    if (watched === undefined) return;
    watched.answers.push(answer);
    answer.on('close', () => {
      watched.answers.splice(watched.answers.indexOf(answer), 1);
      watched.writingSince = undefined;
      watched.idleSince = this.#options.now();
    });
  }

  /** Closes what is too slow by now. */
  sweep(): void {
    const now = this.#options.now();
    for (const [socket, watched] of this.#connections) {
      const reason = this.#fault(socket, watched, now);
      if (reason === undefined) continue;
      this.#options.onClose(reason);
      socket.destroy();
    }
  }

  #fault(socket: Socket, watched: Watched, now: number) {
    const { stallMs, answerMs, idleMs } = this.#options;
    const [answer] = watched.answers;
    if (answer === undefined) return now - watched.idleSince > idleMs ? 'idle' : undefined;
    // The handler is at work, which has deadlines of its own.
    if (!answer.headersSent) return undefined;
    const taken = socket.bytesWritten - socket.writableLength;
    if (watched.writingSince === undefined || taken !== watched.taken) {
      watched.taken = taken;
      watched.takenAt = now;
    }
    watched.writingSince ??= now;
    if (now - watched.writingSince > answerMs) return 'answer read too slowly';
    return now - watched.takenAt > stallMs ? 'answer not read' : undefined;
  }
}

/** A connection is idle when it is past the timeout of Node and one more request might have begun meanwhile. */
export function slowConnections({
  config,
  logger,
}: {
  readonly config: Pick<ServerConfig, 'timeouts'>;
  readonly logger: Logger;
}): SlowConnections {
  const { stallMs, answerMs, keepAliveMs, requestMs } = config.timeouts;
  return new SlowConnections({
    stallMs,
    answerMs,
    idleMs: keepAliveMs + requestMs,
    now: () => performance.now(),
    onClose: (reason) => logger.info({ reason }, 'connection closed'),
  });
}
