import type { Socket } from 'node:net';
import type { Account, Refusal } from '../budgets/budgets.ts';

/** A connection whose address is in debt, before its handshake. */
interface Arrival {
  readonly socket: Socket;
  /** Key of a queue: the network that is accounted as one anonymous source. */
  readonly key: string;
  /** The address's own account. */
  readonly own: Account;
  /** Begins the handshake: this account has been charged nothing yet, and pays. */
  readonly begin: (payer: Account) => void;
}

interface ConnectionQueueDeps {
  /** Account reserved for waiting connections. */
  readonly reserve: Account;
  /** Maximum wait of a connection, in milliseconds. */
  readonly waitMs: number;
  /** Called for each connection that timed out in the queue. */
  readonly onRefused: (refusal: Refusal) => void;
}

interface Waiting extends Arrival {
  /** Removes it from the queue; bytes received meanwhile can be read again. */
  readonly leave: () => void;
}

/** Maximum queue length: as few as are admitted, with the default budgets, before a client gives up. */
const maxWaiting = 256;
/** Maximum of held bytes, above any first message of TLS. */
const maxHeldBytes = 32_768;
/** Interval of the queue's admission rounds. */
const turnMs = 20;

/**
 * Queue for connections of addresses in debt, instead of closing them: before a handshake a flood cannot be told from the other clients behind
 * its address, so each is admitted in order of arrival, round robin over the addresses. They are paid by the address, and beyond that out of a
 * reserve. A client that proves a certificate pays itself, and gives back what it took of either.
 */
export class ConnectionQueue {
  readonly #deps: ConnectionQueueDeps;
  /** Queues by key, that of the next turn first; never an empty one. */
  readonly #lines = new Map<string, Waiting[]>();
  #length = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: ConnectionQueueDeps) {
    this.#deps = deps;
  }

  /** True if an earlier connection of this key waits. */
  has(key: string): boolean {
    return this.#lines.has(key);
  }

  add(arrival: Arrival): void {
    const line = this.#lines.get(arrival.key) ?? [];
    this.#lines.set(arrival.key, line);
    line.push(this.#waiting(arrival));
    this.#length += 1;
    if (this.#length > maxWaiting) this.#refuse(this.#newestOfLongest());
    this.#timer ??= setInterval(() => this.#turn(), turnMs).unref();
  }

  #waiting(arrival: Arrival): Waiting {
    const { socket } = arrival;
    const giveBack = holdBytes(socket);
    const timer = setTimeout(() => this.#refuse(waiting), this.#deps.waitMs);
    const leave = () => {
      clearTimeout(timer);
      socket.off('close', leave);
      giveBack();
      this.#remove(waiting);
    };
    const waiting = { ...arrival, leave };
    socket.on('close', leave);
    return waiting;
  }

  #remove(waiting: Waiting): void {
    const line = this.#lines.get(waiting.key);
    const at = line?.indexOf(waiting) ?? -1;
    if (line === undefined || at < 0) return;
    line.splice(at, 1);
    this.#length -= 1;
    if (line.length === 0) this.#lines.delete(waiting.key);
    if (this.#length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #newestOfLongest(): Waiting | undefined {
    let longest: Waiting[] = [];
    for (const line of this.#lines.values()) if (line.length >= longest.length) longest = line;
    return longest.at(-1);
  }

  #refuse(waiting: Waiting | undefined): void {
    if (waiting === undefined) return;
    const refusal = waiting.own.refusal();
    waiting.leave();
    if (refusal !== undefined) this.#deps.onRefused(refusal);
    waiting.socket.destroy();
  }

  #turn(): void {
    for (const line of [...this.#lines.values()]) {
      for (let [first] = line; first !== undefined && first.own.refusal() === undefined; [first] = line) {
        begin(first, first.own);
      }
    }
    const { reserve } = this.#deps;
    for (let first = this.#next(); first !== undefined && reserve.refusal() === undefined; first = this.#next()) {
      // The others come before the next one of this key.
      const line = this.#lines.get(first.key) ?? [];
      this.#lines.delete(first.key);
      this.#lines.set(first.key, line);
      begin(first, reserve);
    }
  }

  #next(): Waiting | undefined {
    const [line] = this.#lines.values();
    return line?.[0];
  }
}

function begin(waiting: Waiting, payer: Account): void {
  waiting.leave();
  waiting.begin(payer);
}

/**
 * Holds bytes that a client sends before its turn. A client that gives up, or sends more than a first message, is closed. Returns a function
 * that puts all of them back.
 */
function holdBytes(socket: Socket): () => void {
  const held: Buffer[] = [];
  let length = 0;
  const read = () => {
    for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
      held.push(chunk);
      length += chunk.length;
    }
    if (length > maxHeldBytes) socket.destroy();
  };
  const end = () => void socket.destroy();
  // The error of a broken connection carries nothing of use: its close event is what counts.
  const ignore = () => undefined;
  socket.on('readable', read);
  socket.on('end', end);
  socket.on('error', ignore);
  return () => {
    socket.off('readable', read);
    socket.off('end', end);
    socket.off('error', ignore);
    if (length > 0 && !socket.destroyed) socket.unshift(Buffer.concat(held));
  };
}
