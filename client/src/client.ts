import { maxBundleBytes as largestBundle } from '@signet/policy-engine/bundle';
import { type Clock, systemClock } from '@signet/policy-engine/clock';
import { Access, principalTokenHeaderOf } from './access.ts';
import { wholeNumber } from './arguments.ts';
import { Aws } from './aws.ts';
import { Bundles } from './bundles.ts';
import { Certificates } from './certificates.ts';
import { SignetClientError } from './client-errors.ts';
import { Agents } from './http/agents.ts';
import { Http } from './http/http.ts';
import { serverCheck } from './http/server-check.ts';
import { Servers } from './http/servers.ts';
import { Instances } from './instances.ts';
import { createKeyResolver, type KeyResolver } from './key-resolver.ts';
import { fetchKeys, fetchMetadata, type Metadata, type PublishedKeys } from './published-keys.ts';
import { commonName, Roles } from './roles.ts';
import { SshCertificates } from './ssh-certificates.ts';
import { createTargetFetch, type Target, type TargetFetch } from './target-fetch.ts';
import { Tokens } from './tokens/tokens.ts';

/** Options of `createClient`. Times are in milliseconds, sizes in bytes. */
export interface ClientOptions {
  /** `https` URL of the API, e.g. `https://localhost:4443/v1`; or those of several servers, the preferred one first. */
  readonly baseUrl: string | readonly string[];
  /** The client's certificate chain: a file name, or PEM text. Files are read again when they change. */
  readonly certificate: string;
  /** The key of the certificate: a file name, or PEM text. */
  readonly key: string;
  /** The CA certificates that the server's certificate must chain to, and no others: a file name, or PEM text. */
  readonly caBundle: string;
  /**
   * Expected identity in the server's certificate, as services get certificates of the same authority: a principal in any trust domain, a SPIFFE
   * id, or `host-name` for a server with a public certificate. Default `sys.auth.server`. The host name is checked in any case.
   */
  readonly serverIdentity?: string;
  /** The server's profile: principal tokens are passed on in `Svc-Principal-Auth`, or as Athenz reads them in `Athenz-Principal-Auth`. Default `signet`. */
  readonly profile?: 'signet' | 'athenz';
  /** Default 30,000. */
  readonly connectTimeoutMs?: number;
  /** Timeout from the request to the headers of the answer, and again from there to its last byte. Default 30,000. */
  readonly readTimeoutMs?: number;
  /**
   * Maximum retries of a request after an answer 5xx or a failed connection, each after a pause that grows and is partly random, or as long as
   * `Retry-After` asks for. Before each pause every server has been asked once. Default 2.
   */
  readonly retries?: number;
  /** Interval at which the identity files are checked, on use. Default 1,000. */
  readonly reloadIntervalMs?: number;
  /** Connections at once. Default 32; requests beyond that wait. */
  readonly maxConnections?: number;
  /** Tokens kept at most. Default 1,000. */
  readonly tokenCacheSize?: number;
  /** File that keeps tokens over restarts (mode 0600); none by default. It holds secrets as long as they live. */
  readonly tokenCacheFile?: string;
  /** Protected services by origin (`https://catalog.example:4444`) and the token that each wants, for `fetch`. */
  readonly targets?: Readonly<Record<string, Target>>;
  /** Largest bundle accepted, in bytes. Default: the largest that a server makes (32 MiB). */
  readonly maxBundleBytes?: number;
  /** URL of a proxy that tunnels (CONNECT); none by default, the environment is not read. */
  readonly proxy?: string;
  /** Hosts reached without the proxy, comma-separated, as in `NO_PROXY`. */
  readonly noProxy?: string;
  readonly clock?: Clock;
  /** Random source for the pauses, between 0 and 1; default `Math.random`. */
  readonly random?: () => number;
}

/** The certificate that the client shows. */
export interface ClientIdentity {
  /** Base64url SHA-256 of the certificate; tokens are bound to it (RFC 8705 §3.1). */
  readonly thumbprint: string;
  readonly subject: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  /** Error of the files on disk, when they have changed and cannot be used. */
  readonly problem: SignetClientError | undefined;
}

/** A connection to a Signet server; a service makes one and keeps it. Every method throws only `SignetClientError`. */
export interface SignetClient extends AsyncDisposable {
  readonly tokens: Tokens;
  readonly access: Access;
  readonly bundles: Bundles;
  readonly instances: Instances;
  readonly roles: Roles;
  readonly certificates: Certificates;
  readonly ssh: SshCertificates;
  readonly aws: Aws;
  /** `fetch` to a protected service with the right token. */
  readonly fetch: TargetFetch;
  /** Key argument of `jwtVerify` of `jose` for tokens of this server. */
  readonly keyResolver: KeyResolver;
  /** The keys that verify tokens and bundles, with the curve names of RFC 7518. Asks the server each time. */
  keys(options?: { readonly signal?: AbortSignal }): Promise<PublishedKeys>;
  /** The server's metadata document. Asks the server each time. */
  metadata(options?: { readonly signal?: AbortSignal }): Promise<Metadata>;
  /** The certificate in use, after looking at the files when that is due. */
  identity(): Promise<ClientIdentity>;
  /** Ends every connection; calls under way end with `closed`. */
  close(): Promise<void>;
}

function parseBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'https:') {
    throw new SignetClientError('invalid-argument', 'baseUrl is not an https URL');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new SignetClientError('invalid-argument', 'baseUrl holds more than host, port and path');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function parseProxy(text: string | undefined): { readonly proxy?: string } {
  if (text === undefined) return {};
  const url = URL.parse(text);
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return { proxy: text };
  // the text is not quoted: it may hold a password
  throw new SignetClientError('invalid-argument', 'proxy is not an http or https URL');
}

const day = 86_400_000;

function parseBaseUrls(given: string | readonly string[]): readonly string[] {
  const urls = [...new Set((typeof given === 'string' ? [given] : given).map(parseBaseUrl))];
  if (urls.length > 0) return urls;
  throw new SignetClientError('invalid-argument', 'baseUrl names no server');
}

function parseTargets(targets: Readonly<Record<string, Target>>): ReadonlyMap<string, Target> {
  return new Map(
    Object.entries(targets).map(([origin, target]) => {
      const url = URL.parse(origin);
      if (url?.protocol === 'https:' && `${url.origin}/` === url.href) return [url.origin, target];
      throw new SignetClientError('invalid-argument', 'targets: a name is not an https origin');
    }),
  );
}

function openAgents(options: ClientOptions, clock: Clock): { agents: Agents; timeouts: Timeouts } {
  const timeouts = {
    connectTimeoutMs: wholeNumber(options.connectTimeoutMs ?? 30_000, 'connectTimeoutMs', 1, day),
    readTimeoutMs: wholeNumber(options.readTimeoutMs ?? 30_000, 'readTimeoutMs', 1, day),
  };
  const agents = new Agents({
    source: { certificate: options.certificate, key: options.key, caBundle: options.caBundle },
    clock,
    ...timeouts,
    reloadIntervalMs: wholeNumber(options.reloadIntervalMs ?? 1000, 'reloadIntervalMs', 0, day),
    maxConnections: wholeNumber(options.maxConnections ?? 32, 'maxConnections', 1, 10_000),
    isServer: serverCheck(options.serverIdentity),
    ...parseProxy(options.proxy),
    ...(options.noProxy !== undefined && { noProxy: options.noProxy }),
  });
  return { agents, timeouts };
}

interface Timeouts {
  readonly connectTimeoutMs: number;
  readonly readTimeoutMs: number;
}

/** Makes a client. Reads the identity at once: throws `invalid-identity` or `invalid-argument`. Connects on first use. */
export function createClient(options: ClientOptions): SignetClient {
  const baseUrls = parseBaseUrls(options.baseUrl);
  const targets = parseTargets(options.targets ?? {});
  const tokenHeader = principalTokenHeaderOf(options.profile ?? 'signet');
  const clock = options.clock ?? systemClock;
  const cacheSize = wholeNumber(options.tokenCacheSize ?? 1000, 'tokenCacheSize', 1, 1_000_000);
  const maxBundleBytes = wholeNumber(options.maxBundleBytes ?? largestBundle, 'maxBundleBytes', 1, largestBundle);
  const retries = wholeNumber(options.retries ?? 2, 'retries', 0, 100);
  const { agents, timeouts } = openAgents(options, clock);
  const retry = { retries, random: options.random ?? Math.random };
  const http = new Http({ agents, servers: new Servers(baseUrls, clock), retry, clock, ...timeouts });
  const current = async () => {
    await agents.refresh();
    return agents.identity;
  };
  const tokens = new Tokens({
    http,
    clock,
    caller: async () => {
      const { thumbprint, subject } = await current();
      return { thumbprint, principal: commonName(subject) };
    },
    cacheSize,
    cacheFile: options.tokenCacheFile,
    server: baseUrls.join(' '),
  });
  const access = new Access(http, tokenHeader);
  const close = async () => {
    await agents.close();
    await tokens.settled();
  };
  return {
    tokens,
    access,
    bundles: new Bundles(http, maxBundleBytes),
    instances: new Instances(http),
    roles: new Roles(access, async () => (await current()).subject),
    certificates: new Certificates(http, current),
    ssh: new SshCertificates(http, current),
    aws: new Aws(http, clock, async () => (await current()).subject),
    fetch: createTargetFetch({ agents, tokens, clock, targets }),
    keyResolver: createKeyResolver({ fetchKeys: (signal) => fetchKeys(http, signal), clock }),
    keys: (call) => fetchKeys(http, call?.signal),
    metadata: (call) => fetchMetadata(http, call?.signal),
    identity: async () => {
      const { thumbprint, subject, notAfter } = await current();
      return { thumbprint, subject, notAfter, problem: agents.problem };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
