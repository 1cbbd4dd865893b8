import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Account, Budgets } from '../budgets/budgets.ts';
import { strangerOf } from '../budgets/client-addresses.ts';
import { costs } from '../budgets/costs.ts';
import type { Refusals } from '../budgets/refusals.ts';
import { ConnectionQueue } from './connection-queue.ts';
import { readProxyHeader } from './proxy-protocol.ts';

interface ConnectionDeps {
  /** True if connections of this address begin with a PROXY header, and no others. */
  readonly isBalancer: (address: string) => boolean;
  /** Timeout for the PROXY header, and for the turn of a connection whose address is in debt; in milliseconds. */
  readonly waitMs: number;
  /** Budgets; absent: connections cost nothing. */
  readonly budgets?: Budgets | undefined;
  readonly refusals: Refusals;
}

/** Addresses of the clients of connections, and the cost of their handshakes. */
export interface Connections {
  /** The address of the client: behind a listed balancer what that one says, else of the connection itself. */
  addressOf(socket: Socket): string;
  /** The client has proved a certificate and its budget takes the request: its account pays the handshake instead of its address. */
  settle(socket: Socket, account: Account): void;
}

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>;

interface Connection {
  readonly address: string;
  /** Account that has paid for the handshake, until it is settled. */
  payer?: Account | undefined;
}

/**
 * Stands between the port and TLS: reads the PROXY header of listed balancers, and has connections of addresses whose budget is used up wait
 * before they cost a handshake.
 */
export function watchConnections(server: Server, deps: ConnectionDeps): Connections {
  // Listener that accepts a connection; it is called once the connection may begin its handshake.
  const accepting = server.listeners('connection');
  server.removeAllListeners('connection');
  /** Connections until their handshake ends; a socket of TLS does not tell which one it is over. */
  const beginning = new Map<string, Connection>();
  const connections = new WeakMap<Socket, Connection>();
  const begin = (socket: Socket, address: string, payer?: Account) => {
    payer?.charge(costs.handshake);
    const key = endsOf(socket);
    beginning.set(key, { address, payer });
    socket.once('close', () => beginning.delete(key));
    for (const accept of accepting) accept.call(server, socket);
  };
  const admit = admissionOf(deps, begin);
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined) socket.destroy();
    else if (deps.isBalancer(remoteAddress)) readHeader(deps, socket, remoteAddress, admit);
    else admit(socket, remoteAddress);
  });
  server.on('secureConnection', (socket) => {
    const connection = beginning.get(endsOf(socket));
    if (connection !== undefined) connections.set(socket, connection);
    beginning.delete(endsOf(socket));
  });
  return {
    addressOf: (socket) => connections.get(socket)?.address ?? '',
    settle(socket, account) {
      const connection = connections.get(socket);
      if (connection?.payer === undefined) return;
      connection.payer.charge(-costs.handshake);
      account.charge(costs.handshake);
      connection.payer = undefined;
      deps.budgets?.remember(connection.address);
    },
  };
}

/** Admission: a connection whose handshake is paid may begin it; the others wait in the queue. */
function admissionOf(
  { budgets, waitMs, refusals }: ConnectionDeps,
  begin: (socket: Socket, address: string, payer?: Account) => void,
): (socket: Socket, address: string) => void {
  if (budgets === undefined) return begin;
  const queue = new ConnectionQueue({ reserve: budgets.reserve, waitMs, onRefused: refusals.connection });
  return (socket, address) => {
    const own = budgets.ofConnection(address);
    const key = strangerOf(address);
    const refusal = own.refusal();
    if (refusal !== undefined) refusals.waiting(refusal);
    if (refusal === undefined && !queue.has(key)) begin(socket, address, own);
    else queue.add({ socket, key, own, begin: (payer) => begin(socket, address, payer) });
  };
}

/** The same text for a connection of TLS and the one below it, and for no other. */
export function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Ends): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

/** Reads the header of a balancer and begins with the client's address; a connection without a valid one is closed. */
function readHeader(
  { waitMs, refusals }: ConnectionDeps,
  socket: Socket,
  balancer: string,
  admit: (socket: Socket, address: string) => void,
): void {
  let bytes: Buffer = Buffer.alloc(0);
  const refuse = (reason: string) => {
    refusals.header(balancer, reason);
    socket.destroy();
  };
  const timer = setTimeout(refuse, waitMs, 'too slow');
  const stop = () => {
    clearTimeout(timer);
    socket.off('readable', read);
    socket.off('error', ignore);
    socket.off('close', stop);
  };
  const read = () => {
    for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
      bytes = Buffer.concat([bytes, chunk]);
      const header = readProxyHeader(bytes);
      if (header.kind === 'incomplete') continue;
      stop();
      if (header.kind === 'malformed') refuse(header.reason);
      else {
        socket.unshift(bytes.subarray(header.length));
        admit(socket, header.address ?? balancer);
      }
      return;
    }
  };
  // The error of a broken connection carries nothing of use: its close event is what counts.
  const ignore = () => undefined;
  socket.on('readable', read);
  socket.on('error', ignore);
  socket.on('close', stop);
  read();
}
