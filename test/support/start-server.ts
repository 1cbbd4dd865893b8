import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '@signet/policy-engine/clock';
import { noPeers, type Peers } from '@signet/server/base/peers';
import { createServer, type RunningServer } from '@signet/server/compose/compose';
import { loadConfig, type ServerConfig } from '@signet/server/config/config';
import { createLogger } from '@signet/server/logger';
import type { Store } from '@signet/server/model/store';
import { openStore } from '@signet/server/store/open';
import { describeServer, requireDocumented } from './documented.ts';
import { type DomainSketch, domainContent } from './domain-sketch.ts';
import { createPki, type Pki } from './pki.ts';
import { sharedPostgres } from './postgres.ts';
import { saveDomain } from './save-domain.ts';

/** Owner that ends things: a test (`t`), or the whole file (`wholeFile`). */
export interface Ending {
  teardown(end: () => void | Promise<void>): void;
}

/**
 * For a server that all tests of a file use: await it before the first test is declared, then give `end` to `test.after.always`.
 */
export function wholeFile(): Ending & { end(): Promise<void> } {
  const endings: (() => void | Promise<void>)[] = [];
  return {
    teardown: (end) => void endings.unshift(end),
    async end() {
      for (const end of endings) await end();
    },
  };
}

export interface TestServer {
  readonly running: RunningServer;
  readonly baseUrl: string;
  readonly store: Store;
  readonly pki: Pki;
  readonly folder: string;
  /** The log so far, one parsed line an entry. */
  readonly log: readonly Record<string, unknown>[];
  /** Stores the domains in one transaction and makes the server see them. */
  save(...domains: readonly DomainSketch[]): Promise<void>;
}

export interface TestServerOptions {
  readonly domains?: readonly DomainSketch[];
  /** Options by their paths, e.g. `tokens.bound`. */
  readonly options?: Readonly<Record<string, unknown>>;
  readonly clock?: Clock;
  /** Monotonic clock in milliseconds. */
  readonly monotonic?: () => number;
  readonly pki?: Pki;
  /** The other processes of the server; default: none. */
  readonly peers?: Peers;
  /** `polled`: it hears of changes by other processes with the next poll only, as where hints do not arrive. */
  readonly changes?: 'hinted' | 'polled';
}

/** With `SIGNET_TEST_STORE=postgres` every such server has a PostgreSQL database of its own. */
async function storeOptions(): Promise<Readonly<Record<string, unknown>>> {
  if (process.env['SIGNET_TEST_STORE'] !== 'postgres') return {};
  const server = await sharedPostgres();
  const { hosts, user, database } = server.settings(await server.createDatabase());
  const options = { hosts, user, database, poolSize: 4 };
  const entries = Object.entries(options).map(([name, value]) => [`store.postgres.${name}`, value] as const);
  return { 'store.kind': 'postgres', ...Object.fromEntries(entries) };
}

/** A token server on a free port with a store of its own; it ends with the test or the file. */
export async function startServer(t: Ending, options: TestServerOptions = {}): Promise<TestServer> {
  const { clock, monotonic, pki = await createPki(), peers = noPeers } = options;
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  const at = (name: string) => join(folder, name);
  const server = await pki.server();
  writeFileSync(at('server.cert.pem'), server.certificate);
  writeFileSync(at('server.key.pem'), server.key);
  writeFileSync(at('bundle.pem'), pki.bundle);
  writeFileSync(at('root.crl.pem'), pki.rootList);
  writeFileSync(at('issuer.cert.pem'), pki.issuer.certificate);
  writeFileSync(at('issuer.key.pem'), pki.issuer.key);
  writeFileSync(
    at('signet.yaml'),
    `tls: { certificate: server.cert.pem, key: server.key.pem, clientCa: bundle.pem }
certificates: { issuers: [{ certificate: issuer.cert.pem, key: issuer.key.pem }], trustDomain: signet.test }
`,
  );
  const loaded = loadConfig(
    at('signet.yaml'),
    {},
    {
      'listen.port': 0,
      'log.level': 'debug',
      // Threads of the server open the store by its place in the configuration.
      dataDir: folder,
      ...(await storeOptions()),
      ...options.options,
    },
  );
  const config = withPatience(loaded, options.options ?? {});
  const log: Record<string, unknown>[] = [];
  const logger = createLogger(config.log.level, { write: (line: string) => void log.push(JSON.parse(line)) });
  const clocks = { ...(clock !== undefined && { clock }), ...(monotonic !== undefined && { monotonic }) };
  const store = await openStore(config.store, clocks);
  if (options.changes === 'polled') store.watch = () => undefined;
  const running = await createServer(config, { logger, store, peers, ...clocks });
  describeServer(config, running);
  t.teardown(async () => {
    await running.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const save = async (...domains: readonly DomainSketch[]) => {
    await store.change({ actor: 'test' }, async (transaction) => {
      for (const domain of domains) await saveDomain(transaction, domainContent(domain));
    });
    await running.refresh();
  };
  await save(...(options.domains ?? []));
  return { running, baseUrl: running.baseUrl, store, pki, folder, log, save };
}

/** A busy machine needs longer than a server may be told to wait for others; a test that tries such a deadline states it. */
const patienceMs = 600_000;

function withPatience(config: ServerConfig, stated: Readonly<Record<string, unknown>>): ServerConfig {
  const { instances, cloud, timeouts } = config;
  const patient = <Timed extends object>(option: string, timed: Timed): Timed =>
    option in stated ? timed : { ...timed, timeoutMs: patienceMs };
  return {
    ...config,
    instances: { ...instances, callOut: patient('instances.callOut.timeoutMs', instances.callOut) },
    cloud: { ...cloud, aws: patient('cloud.aws.timeoutMs', cloud.aws) },
    timeouts: 'timeouts.requestMs' in stated ? timeouts : { ...timeouts, requestMs: patienceMs },
  };
}

/** Caller of a request: a certificate with its key, or none. */
export interface CallerOptions {
  readonly certificate?: string;
  readonly key?: string;
}

export interface CallOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  /** The body as JSON, undefined when it is empty. */
  readonly body: unknown;
}

export interface Caller {
  /** `path` is below the base URL, or from the root when it begins with `^`. */
  (path: string, options?: CallOptions): Promise<Answer>;
  readonly agent: Agent;
}

/** A client with one kept-alive connection to a server. */
export function caller(t: Ending, server: Pick<TestServer, 'baseUrl' | 'pki'>, who: CallerOptions = {}): Caller {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    // Else taken from the Host header, which tests set to what they like.
    servername: 'localhost',
    ca: server.pki.bundle,
    ...(who.certificate !== undefined && { cert: who.certificate }),
    ...(who.key !== undefined && { key: who.key }),
  });
  t.teardown(() => agent.destroy());
  const call = (path: string, options: CallOptions = {}) => {
    const base = new URL(server.baseUrl);
    const url = path.startsWith('^') ? path.slice(1) : `${base.pathname}${path}`;
    return documented(server.baseUrl, url, options, exchange(agent, base, url, options));
  };
  return Object.assign(call, { agent });
}

/** Every answer is one that the OpenAPI document describes. */
async function documented(
  baseUrl: string,
  path: string,
  { method, body }: CallOptions,
  exchanged: Promise<Answer>,
): Promise<Answer> {
  const answer = await exchanged;
  requireDocumented(baseUrl, { method: method ?? usualMethod(body), path, body }, answer);
  return answer;
}

function usualMethod(body: CallOptions['body']): string {
  return body === undefined ? 'GET' : 'POST';
}

function exchange(agent: Agent, base: URL, path: string, options: CallOptions): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const { method = usualMethod(options.body), headers = {}, body } = options;
  const isSized = body !== undefined && headers['transfer-encoding'] === undefined;
  const length = !isSized ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const sent = request(
    { agent, host: base.hostname, port: base.port, path, method, headers: { ...length, ...toLists(headers) } },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const json = text !== '' && (response.headers['content-type'] ?? '').includes('json');
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          body: json ? JSON.parse(text) : undefined,
        });
      });
      response.on('error', reject);
    },
  );
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

function toLists(headers: Readonly<Record<string, string | readonly string[]>>): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
  );
}

/** A form body and its content type. */
export function form(fields: Readonly<Record<string, string>> | string): CallOptions {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: typeof fields === 'string' ? fields : new URLSearchParams(fields).toString(),
  };
}
