import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { listen } from '../http/listen.ts';
import { type Answer, type AskedOfConsole, answerTo, type ConsoleDeps } from './answer.ts';

/** A running console. */
interface Host extends AsyncDisposable {
  readonly origin: string;
}

/** Bounds of a request: forms are small, and so are addresses. */
const headerBytes = 16_384;
const bodyBytes = 16_384;
const requestMs = 10_000;
/** Loopback addresses to which `localhost` may lead. INVARIANT: the port is taken on each, so that no other program gets the link. */
const addresses = ['127.0.0.1', '::1'] as const;
/** Free ports that are tried until one is free on every address. */
const portTries = 10;

/** Serves the console on loopback. Port 0 selects a free one. Throws what listening throws. */
export async function openHost(deps: ConsoleDeps, port: number): Promise<Host> {
  let origin = '';
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    answerRequest(deps, origin, request)
      .then((answer) => send(response, answer))
      .catch((error: unknown) => {
        // A form that was not sent to its end, or a fault.
        if (!request.destroyed) deps.onFault(error);
        response.destroy();
      });
  };
  const servers = await listenOnLoopback(port, handle);
  origin = `http://localhost:${portOf(servers) ?? port}`;
  return {
    origin,
    async [Symbol.asyncDispose]() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

async function listenOnLoopback(port: number, handle: Handle): Promise<readonly Server[]> {
  for (let triesLeft = port === 0 ? portTries - 1 : 0; ; triesLeft -= 1) {
    try {
      return await listenOnEach(port, handle);
    } catch (error) {
      if (triesLeft === 0) throw error;
    }
  }
}

/** Listens on one port of every address. */
async function listenOnEach(port: number, handle: Handle): Promise<readonly Server[]> {
  const options = { maxHeaderSize: headerBytes, requestTimeout: requestMs, headersTimeout: requestMs };
  const servers: Server[] = [];
  try {
    for (const host of addresses) {
      const server = createServer(options, handle);
      if (await isListening(server, host, portOf(servers) ?? port)) servers.push(server);
    }
    return servers;
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
}

function portOf([server]: readonly Server[]): number | undefined {
  const address = server?.address();
  return typeof address === 'object' && address !== null ? address.port : undefined;
}

/** False where this machine does not have the address. */
async function isListening(server: Server, host: (typeof addresses)[number], port: number): Promise<boolean> {
  try {
    await listen(server, { host, port, reusePort: false, option: '--port' });
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (host === '::1' && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')) return false;
    throw error;
  }
}

async function answerRequest(deps: ConsoleDeps, origin: string, request: IncomingMessage): Promise<Answer> {
  const { method = '', url = '', headers } = request;
  const form = method === 'POST' ? await formOf(request) : undefined;
  const asked: AskedOfConsole = {
    method,
    url,
    origin,
    host: headers.host,
    fetchSite: headers['sec-fetch-site'],
    ...(form !== undefined && { form }),
  };
  return await answerTo(deps, asked);
}

/** Body of a form; undefined when it is none, or too long. */
async function formOf(request: IncomingMessage): Promise<string | undefined> {
  if (request.headers['content-type']?.split(';')[0] !== 'application/x-www-form-urlencoded') return undefined;
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > bodyBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function send(response: ServerResponse, { status, type, text, location }: Answer): void {
  response.writeHead(status, {
    'Content-Type': type,
    ...(location !== undefined && { Location: location }),
    'Content-Security-Policy':
      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  });
  response.end(text);
}
