import { readFileSync } from 'node:fs';
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Duplex } from 'node:stream';
import { createSecureContext } from 'node:tls';
import { formatHttpDate, systemClock } from '@signet/policy-engine/clock';
import { secureServerOptions } from '@signet/policy-engine/http';

/** PEM files of the server's certificate (chain), its key, and the CAs of client certificates. */
interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
  readonly clientCa: string;
}

interface TlsServerOptions {
  readonly files: TlsFiles;
  /** PEM of the authorities below those of `clientCa` that are known here: their clients need not send them. */
  readonly intermediates: () => string;
  readonly headerBytes: number;
  readonly requestMs: number;
  readonly keepAliveMs: number;
  /** Called for handshakes that fail and requests that cannot be parsed. */
  readonly onFailure: (stage: 'handshake' | 'request', reason: string) => void;
  /** Called for answers to input that never becomes a request of the application; the method where it is known. */
  readonly onAnswered?: ((socket: Duplex, status: number, method?: string) => void) | undefined;
}

/** The certificate of the server with its chain, and its key. */
interface OwnPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

function readPair({ certificate, key }: TlsFiles): OwnPair {
  return { cert: readFileSync(certificate), key: readFileSync(key) };
}

/* INVARIANT: a chain ends at a root of `clientCa`: without `allowPartialTrustChain`, one that is beside them only fills a gap. */
function secureOptions(own: OwnPair, { clientCa }: TlsFiles, intermediates: string) {
  const authorities = readFileSync(clientCa);
  return {
    ...own,
    ca: intermediates === '' ? [authorities] : [authorities, intermediates],
    ...secureServerOptions,
  } as const;
}

interface TlsServer {
  readonly server: Server;
  /**
   * Reads the files again and uses them for the connections to come. INVARIANT: removed authorities take effect even if the server's certificate
   * cannot be loaded: then the former one stays in use, and the reason is returned. Throws, and changes nothing, when the authorities cannot be
   * used.
   */
  reload(): Error | undefined;
}

/**
 * HTTP/1.1 over TLS 1.2 and 1.3 (docs/decisions/048) that asks every client for a certificate; whether the one it gets will do is decided for each
 * request. It answers what never becomes a request (malformed, too large, too slow) itself. Throws when a file cannot be used.
 */
export function createTlsServer(options: TlsServerOptions): TlsServer {
  const { files, intermediates } = options;
  let own = readPair(files);
  const server = createServer({
    ...secureOptions(own, files, intermediates()),
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: options.requestMs,
    // A client that offers only the older one understands the newer one's answers all the same (RFC 9112 §2.3).
    ALPNProtocols: ['http/1.1', 'http/1.0'],
    ...httpOptions(options),
  });
  const use = (pair: OwnPair): void => {
    const next = secureOptions(pair, files, intermediates());
    createSecureContext(next);
    server.setSecureContext(next);
    own = pair;
  };
  const reload = (): Error | undefined => {
    try {
      use(readPair(files));
      return undefined;
    } catch (error) {
      use(own);
      return error instanceof Error ? error : new Error(String(error));
    }
  };
  answerNoRequests(server, options);
  followIntermediates(server, options, reload);
  return { server, reload };
}

/** Updates intermediates before the handshake of a connection: issuers may have been replaced since the last one. */
function followIntermediates(
  server: Server,
  { intermediates, onFailure }: TlsServerOptions,
  reload: TlsServer['reload'],
): void {
  let known = intermediates();
  server.prependListener('connection', () => {
    const current = intermediates();
    if (current === known) return;
    known = current;
    try {
      reload();
    } catch (error) {
      onFailure('handshake', error instanceof Error && 'code' in error ? String(error.code) : 'unknown');
    }
  });
}

/** Limits of Node's HTTP parser. */
export function httpOptions({
  requestMs,
  keepAliveMs,
  headerBytes,
}: Pick<TlsServerOptions, 'requestMs' | 'keepAliveMs' | 'headerBytes'>) {
  return {
    headersTimeout: requestMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: keepAliveMs,
    // Node refuses what reaches the number: URL, names and values together.
    maxHeaderSize: headerBytes + 1,
    // Missing and wrong hosts are answered by the application, with a body.
    requireHostHeader: false,
  } as const;
}

/** Answers input that never becomes a request of the application. */
export function answerNoRequests(
  server: HttpServer,
  options: Pick<TlsServerOptions, 'onFailure' | 'onAnswered'>,
): void {
  server.maxHeadersCount = 0;
  // Node tells of a failed handshake a second time, as of a bad request.
  const ofHandshakes = new WeakSet<Error>();
  server.on('clientError', (error, socket) => {
    if (ofHandshakes.has(error)) return;
    const code = 'code' in error ? String(error.code) : 'unknown';
    options.onFailure('request', code);
    const status = answerUnparsable(code, socket, 'rawPacket' in error ? String(error.rawPacket) : '');
    if (status !== undefined) options.onAnswered?.(socket, status);
  });
  server.prependListener('tlsClientError', (error: Error, socket: Duplex) => {
    ofHandshakes.add(error);
    options.onFailure('handshake', 'code' in error ? String(error.code) : 'unknown');
    socket.destroy();
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    options.onAnswered?.(request.socket, 417, request.method);
    const body = resourceError(417, 'the expectation cannot be met');
    const length = Buffer.byteLength(body);
    response
      .writeHead(417, {
        'Content-Type': 'application/json',
        'Content-Length': length,
        'Cache-Control': 'no-store',
        Connection: 'close',
      })
      .end(body);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    options.onAnswered?.(socket, 405, 'CONNECT');
    writeRaw(socket, 405, 'Method Not Allowed', 'the method is not allowed at this path');
  });
}

/** The first line of a request of HTTP/1.1, whatever its method. */
const requestLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP\/1\.[01]\r?\n/;

/** Answers an unparsable request with the returned status; undefined if no answer is possible. */
function answerUnparsable(code: string, socket: Duplex, received: string): number | undefined {
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy();
    return undefined;
  }
  if (isAnswering(socket)) {
    socket.end(() => socket.destroy());
    return undefined;
  }
  const [status, phrase, message] = refusalOf(code, received);
  writeRaw(socket, status, phrase, message);
  return status;
}

/**
 * True if an answer has begun that is incomplete: bytes written now would be part of it. Only Node's internal state tells, which its own handler
 * reads.
 */
function isAnswering(socket: Duplex): boolean {
  const answer: Pick<ServerResponse, 'headersSent' | 'writableEnded'> | null =
    Reflect.get(socket, '_httpMessage') ?? null;
  return answer?.headersSent === true && !answer.writableEnded;
}

function refusalOf(code: string, received: string): readonly [status: number, phrase: string, message: string] {
  if (code === 'HPE_HEADER_OVERFLOW') return [431, 'Request Header Fields Too Large', 'the headers are too large'];
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'Request Timeout', 'the request took too long'];
  if (code === 'HPE_INVALID_METHOD' && requestLine.test(received)) {
    return [501, 'Not Implemented', 'the method is not known'];
  }
  return [400, 'Bad Request', 'the request is not HTTP'];
}

function resourceError(code: number, message: string): string {
  return JSON.stringify({ code, message });
}

function writeRaw(socket: Duplex, status: number, phrase: string, message: string): void {
  const body = resourceError(status, message);
  const head = [
    `HTTP/1.1 ${status} ${phrase}`,
    `Date: ${formatHttpDate(systemClock.now())}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Cache-Control: no-store',
    ...(status === 405 ? ['Allow: GET, HEAD, POST'] : []),
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
