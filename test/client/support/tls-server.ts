import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { TLSSocket } from 'node:tls';
import type { ExecutionContext } from 'ava';
import type { TestIdentity } from './pki.ts';

/** A request as it arrived. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Subject CN of the client's certificate. */
  readonly caller: string | undefined;
  /** Number of the connection, from 1. */
  readonly connection: number;
}

export type Respond = (request: SeenRequest, response: ServerResponse) => void | Promise<void>;

/** An HTTPS server on a free port of this machine that asks for a client certificate. */
export interface TestServer {
  readonly port: number;
  /** `https://localhost:<port>/v1`. */
  readonly baseUrl: string;
  readonly requests: readonly SeenRequest[];
  /** Answer; may be replaced at any time. */
  respond: Respond;
  /** Ends every connection. */
  drop(): void;
  close(): Promise<void>;
}

export interface TestServerOptions {
  readonly identity: TestIdentity;
  readonly ca: string;
  readonly respond: Respond;
  readonly port?: number;
}

/** Answers JSON. */
export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Starts a server that ends with the test. */
export async function startTlsServer(t: ExecutionContext, options: TestServerOptions): Promise<TestServer> {
  const requests: SeenRequest[] = [];
  const connections = new WeakMap<object, number>();
  let count = 0;
  const { cert, key } = options.identity;
  const server = createServer(
    { cert, key, ca: options.ca, requestCert: true, rejectUnauthorized: true, keepAliveTimeout: 60_000 },
    (request, response) => {
      void (async () => {
        const caller =
          request.socket instanceof TLSSocket ? request.socket.getPeerCertificate().subject?.CN : undefined;
        const seen: SeenRequest = {
          method: request.method ?? '',
          url: request.url ?? '',
          headers: request.headers,
          body: await text(request).catch(() => ''),
          caller: Array.isArray(caller) ? caller[0] : caller,
          connection: connections.get(request.socket) ?? 0,
        };
        requests.push(seen);
        await test.respond(seen, response);
      })();
    },
  );
  server.on('secureConnection', (socket) => {
    count += 1;
    connections.set(socket, count);
  });
  server.on('tlsClientError', () => undefined);
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const test: TestServer = {
    port,
    baseUrl: `https://localhost:${port}/v1`,
    requests,
    respond: options.respond,
    drop: () => server.closeAllConnections(),
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  t.teardown(() => test.close());
  return test;
}
