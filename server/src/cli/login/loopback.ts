import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from '../../http/listen.ts';

/** Listener to which a browser brings the answer of the issuer (RFC 8252 §7.3). */
interface Loopback extends AsyncDisposable {
  readonly redirectUri: string;
  /** The address that the browser was sent to, once. Rejects when the signal fires. */
  answer(signal: AbortSignal): Promise<URL>;
}

const host = '127.0.0.1';
const path = '/callback';
/** A code and a state; browsers send little else. */
const headerBytes = 16_384;
const requestMs = 10_000;

/**
 * Listens on a free port of this machine for the one request that carries `state`. Every other one is refused and changes nothing: pages in
 * the same browser, and other programs of this machine, may find the port.
 */
export async function openLoopback(state: string): Promise<Loopback> {
  const { promise, resolve } = Promise.withResolvers<URL>();
  const options = { maxHeaderSize: headerBytes, requestTimeout: requestMs, headersTimeout: requestMs };
  let origin = '';
  let isOver = false;
  const server = createServer(options, (request, response) => {
    const url = isOver ? undefined : answerOf(request, origin, state);
    if (url === undefined) return reply(response, 404, 'There is nothing here.');
    isOver = true;
    reply(
      response,
      200,
      'Signet received the response of the issuer. You can close this page and return to the terminal.',
    );
    // Stops listening; this answer is still sent.
    server.close();
    resolve(url);
  });
  const port = await listen(server, { host, port: 0, reusePort: false });
  origin = `http://${host}:${port}`;
  return {
    redirectUri: `${origin}${path}`,
    answer: (signal) => {
      const { promise: ended, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      if (signal.aborted) reject(signal.reason);
      return Promise.race([promise, ended]);
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeIdleConnections();
      setTimeout(() => server.closeAllConnections(), 500).unref();
    },
  };
}

/** URL of the request with the issuer's answer; the Host header proves that no foreign name leads here. */
function answerOf({ method, url, headers }: IncomingMessage, origin: string, state: string): URL | undefined {
  const address = URL.parse(url ?? '', origin);
  if (method !== 'GET' || `http://${headers.host}` !== origin || address?.origin !== origin) return undefined;
  const states = address.searchParams.getAll('state');
  return address.pathname === path && states.length === 1 && states[0] === state ? address : undefined;
}

function reply(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'",
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  });
  response.end(`<!doctype html><title>Signet</title><p>${text}</p>\n`);
}
