import { chmodSync, lstatSync, readFileSync, unlinkSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Clock } from '@signet/policy-engine/clock';
import { gracefulServer, nodeRequests } from '@signet/policy-engine/http';
import type { ServerConfig } from '../config/config.ts';
import type { MetricsListener } from '../config/metrics-listener.ts';
import type { Logger } from '../logger.ts';
import { countConnectionFailures } from './connection-failures.ts';
import { hostOfAuthority } from './host-names.ts';
import { listen } from './listen.ts';
import { slowConnections } from './slow-connections.ts';
import { watchTlsFiles } from './tls-files.ts';
import { answerNoRequests, createTlsServer, httpOptions } from './tls-server.ts';

/** The two formats that scrapers ask for. */
type MetricsFormat = 'text' | 'openmetrics';

type ReadMetrics = (format: MetricsFormat) => Promise<{ readonly contentType: string; readonly text: string }>;

interface MetricsServerDeps {
  readonly config: Pick<ServerConfig, 'tls' | 'timeouts' | 'limits'>;
  readonly logger: Logger;
  readonly read: ReadMetrics;
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
}

interface MetricsServer {
  /** Place where scrapers connect: an address, or the path of a socket. */
  readonly url: string;
  close(): Promise<void>;
}

/** Maximum of scrapers at once, above any real number. */
const scrapersAtOnce = 32;

/**
 * `GET /metrics`, and nothing else. Plain HTTP on a socket of this machine or its loopback interface; anywhere else TLS with the server's own
 * certificate, for callers with a certificate that chains to `tls.clientCa`. Throws what listening throws.
 */
export async function startMetricsServer(deps: MetricsServerDeps, at: MetricsListener): Promise<MetricsServer> {
  const { config, logger } = deps;
  const isPlain = at.kind === 'socket' || isLoopback(at.host);
  const failures = countConnectionFailures(logger);
  const options = { ...config.timeouts, headerBytes: config.limits.headerBytes };
  const onFailure = (stage: string, reason: string) => failures.count(`metrics ${stage}: ${reason}`);
  const secure = isPlain
    ? undefined
    : createTlsServer({ files: config.tls, intermediates: () => '', ...options, onFailure });
  const server: Server = secure?.server ?? createServer(httpOptions(options));
  if (isPlain) answerNoRequests(server, { onFailure });
  server.maxConnections = scrapersAtOnce;
  const graceful = gracefulServer(server);
  slowConnections(deps).watch(server);
  const trust = isPlain ? undefined : openTrust(deps);
  const rules = {
    mayRead: trust?.mayRead ?? (() => true),
    isOwnHost: isPlain && at.kind === 'port' ? hostsOf(at) : () => true,
  };
  server.on('request', (request, response) => void answer(deps, rules, request, response));
  const url = await listenAt(server, at, isPlain);
  server.on('error', (error) => failures.count(`metrics accept: ${'code' in error ? String(error.code) : 'unknown'}`));
  const files = [config.tls.certificate, config.tls.key, config.tls.clientCa];
  const reload = () => {
    const disorder = secure?.reload();
    trust?.reload();
    if (disorder !== undefined) throw disorder;
  };
  const watch = isPlain ? undefined : watchTlsFiles({ files, reload, logger });
  return {
    url,
    close: async () => {
      await watch?.close();
      await graceful.close({ delayMs: 0, deadlineMs: config.timeouts.drainMs });
      failures.close();
    },
  };
}

/**
 * Accepted `Host` headers over plain HTTP. A page in a browser of this machine may have its own name lead to the loopback interface and read the
 * answer then; with TLS the certificate, and on a socket the file system, keeps it out.
 */
function hostsOf({ host: listening }: { readonly host: string }): Rules['isOwnHost'] {
  return ({ headers: { host }, httpVersion }) => {
    if (host === undefined) return httpVersion === '1.0';
    const asked = hostOfAuthority(host)?.toLowerCase();
    return asked !== undefined && (asked === listening || isLoopback(asked));
  };
}

/** True for a loopback name, as configured: a name that only resolves to loopback asks for certificates. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/.test(host);
}

async function listenAt(server: Server, at: MetricsListener, isPlain: boolean): Promise<string> {
  if (at.kind === 'socket') {
    await removeStaleSocket(at.path);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', reject);
    server.listen({ path: at.path }, () => {
      server.off('error', reject);
      resolve();
    });
    await promise;
    // Mode for the group of the scraper.
    chmodSync(at.path, 0o660);
    return at.path;
  }
  const port = await listen(server, {
    host: at.host,
    port: at.port,
    reusePort: false,
    option: 'metrics.listen.port',
  });
  const host = at.host.includes(':') ? `[${at.host}]` : at.host;
  return `${isPlain ? 'http' : 'https'}://${host}:${port}/metrics`;
}

/** Removes a socket that a former process left behind; if a process listens on it, it stays, and listening fails. */
async function removeStaleSocket(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = connect({ path });
  probe.once('connect', () => resolve(false));
  probe.once('error', (error) => resolve('code' in error && error.code === 'ECONNREFUSED'));
  const isStale = await promise;
  probe.destroy();
  if (isStale) unlinkSync(path);
}

/** Predicate: the sender of a request has a valid certificate. */
type MayRead = (request: IncomingMessage) => boolean;

interface Rules {
  readonly mayRead: MayRead;
  /** True if a request is meant for this listener. */
  readonly isOwnHost: (request: Pick<IncomingMessage, 'headers' | 'httpVersion'>) => boolean;
}

/** A connection outlives its certificate, and the authorities that a handshake was verified against: both are looked at on each request. */
function openTrust({ config, clock }: MetricsServerDeps): { readonly mayRead: MayRead; reload(): void } {
  const read = () => readFileSync(config.tls.clientCa, 'utf8');
  let authorities = read();
  const requests = nodeRequests({ authorities: () => authorities, ...(clock !== undefined && { clock }) });
  return {
    mayRead: (request) => requests(request).peer.certificate !== undefined,
    reload() {
      authorities = read();
    },
  };
}

async function answer(
  deps: MetricsServerDeps,
  { mayRead, isOwnHost }: Rules,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!isOwnHost(request)) return refuse(response, otherHost);
  const refusal = mayRead(request) ? refusalOf(request) : withoutCertificate;
  if (refusal !== undefined) return refuse(response, refusal);
  try {
    const { contentType, text } = await deps.read(formatOf(request.headers.accept));
    response.writeHead(200, {
      'Content-Type': contentType,
      'Content-Length': Buffer.byteLength(text),
      'Cache-Control': 'no-store',
    });
    response.end(request.method === 'HEAD' ? undefined : text);
  } catch (error) {
    deps.logger.error({ error: String(error) }, 'metrics cannot be read');
    refuse(response, [500, 'the metrics cannot be read']);
  }
}

type Refusal = readonly [status: number, message: string];

const otherHost: Refusal = [421, 'the Host header must name localhost, a loopback address or `metrics.listen.host`'];
const withoutCertificate: Refusal = [401, 'a client certificate of this system is required'];

function refusalOf({ method, url, headers }: IncomingMessage): Refusal | undefined {
  if (url?.split('?')[0] !== '/metrics') return [404, 'there is nothing at this path, use /metrics'];
  if (method !== 'GET' && method !== 'HEAD') return [405, 'the method is not allowed at this path'];
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return hasBody ? [413, 'the body is too large'] : undefined;
}

function refuse(response: ServerResponse, [status, message]: Refusal): void {
  const body = JSON.stringify({ code: status, message });
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    ...(status === 405 && { Allow: 'GET, HEAD' }),
    // Bytes after the headers are not read.
    Connection: 'close',
  });
  response.end(body);
}

/** Format that an `Accept` header prefers (RFC 9110 §12.5.1); the older one when it names neither. */
export function formatOf(accept = ''): MetricsFormat {
  let [text, openmetrics] = [0, 0];
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    const quality = weight === undefined ? 1 : Number(weight);
    if (type === 'application/openmetrics-text') openmetrics = Math.max(openmetrics, quality);
    if (type === 'text/plain' || type === 'text/*' || type === '*/*') text = Math.max(text, quality);
  }
  return openmetrics > 0 && openmetrics >= text ? 'openmetrics' : 'text';
}
