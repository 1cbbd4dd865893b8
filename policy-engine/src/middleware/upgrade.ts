import type { Decision } from '../policy/index.ts';
import { createAuthorizer } from './authorize.ts';
import { type NodeRequest, nodeRequests } from './node-request.ts';
import type { ProtectOptions } from './protect-options.ts';

/** The part of the socket of an `upgrade` event that is used. */
export interface UpgradeSocket {
  end(text: string, whenSent: () => void): unknown;
  destroy(): unknown;
  on(event: 'error', listener: () => void): unknown;
  off(event: 'error', listener: () => void): unknown;
}

/**
 * Handler for the `upgrade` event of a server (WebSocket), whose requests pass no middleware. Resolves to the decision when the engine answers
 * ALLOW; otherwise it has answered the request, ended the connection, and resolves to `undefined`. A rule that throws is answered with 500.
 * Throws `PolicyEngineError('invalid-options')` when the served domains are not stated.
 */
export function protectUpgrade(
  options: ProtectOptions,
): (request: NodeRequest, socket: UpgradeSocket) => Promise<Decision | undefined> {
  const read = nodeRequests(options);
  const authorize = createAuthorizer(options);
  return async (request, socket) => {
    // The server listens to this socket no more: an error while the engine decides would end the process.
    socket.on('error', ignore);
    const outcome = await authorize(read(request)).catch(() => failure);
    if (outcome.kind !== 'allowed') {
      refuseUpgrade(socket, outcome);
      return undefined;
    }
    socket.off('error', ignore);
    return outcome.decision;
  };
}

function ignore(): void {}

const failure = { kind: 'refused', status: 500, headers: {}, body: { code: 500, message: 'internal error' } } as const;

/** Answers a request whose connection is no longer in the hands of the server, and ends it. */
export function refuseUpgrade(
  socket: UpgradeSocket,
  answer: { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: object },
): void {
  const body = JSON.stringify(answer.body);
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
    ...answer.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${answer.status} ${reasonOf(answer.status)}\r\n${lines.join('')}\r\n`;
  socket.end(head + body, () => socket.destroy());
}

/** An import of `node:http` would load its WebSocket, fetch and all that they need, in every program that uses the engine. */
function reasonOf(status: number): string {
  return process.getBuiltinModule('node:http').STATUS_CODES[status] ?? '';
}
