import { connect } from 'node:tls';
import { requireDocumented } from './documented.ts';
import type { CallerOptions, TestServer } from './start-server.ts';

/** Answer to the bytes of a request. */
export interface RawAnswer {
  readonly status: number;
  /** By lower-case name; of one that stands twice, the last. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

/** Sends exactly these bytes over a TLS connection of its own, and reads one answer, which the OpenAPI document describes. */
export function rawExchange(
  { baseUrl, pki }: Pick<TestServer, 'baseUrl' | 'pki'>,
  request: string,
  who: CallerOptions = {},
): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  const { hostname: host, port } = new URL(baseUrl);
  const { certificate: cert, key } = who;
  const socket = connect({ host, port: Number(port), servername: 'localhost', ca: pki.bundle, cert, key });
  socket.on('error', reject);
  socket.on('secureConnect', () => socket.write(request));
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    const answer = parseAnswer(received);
    if (answer === undefined) return;
    socket.destroy();
    try {
      compare(baseUrl, request, answer);
      resolve(answer);
    } catch (error) {
      reject(error);
    }
  });
  socket.on('end', () => reject(new Error(`the answer is incomplete: ${received}`)));
  return promise;
}

/** Compares with the document what has a method and a path; the rest never becomes a request. */
function compare(baseUrl: string, request: string, answer: RawAnswer): void {
  const [, method, path] = /^([A-Z]+) (\/\S*) HTTP\/1\.[01]\r\n/.exec(request) ?? [];
  if (method === undefined || path === undefined) return;
  requireDocumented(baseUrl, { method, path }, { ...answer, headers: Object.fromEntries(answer.headers) });
}

/** A whole answer with a `Content-Length`, or without a body; undefined as long as some of it is missing. */
function parseAnswer(received: string): RawAnswer | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = received.slice(0, end).split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const status = Number(statusLine.split(' ')[1]);
  const body = received.slice(end + 4);
  const length = status === 204 || status === 304 ? 0 : Number(headers.get('content-length') ?? Number.NaN);
  if (Number.isNaN(length)) throw new Error(`the answer has no length: ${received}`);
  return body.length < length ? undefined : { status, headers, text: Buffer.from(body, 'latin1').toString() };
}
