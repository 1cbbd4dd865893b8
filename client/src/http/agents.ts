import type { Clock } from '@signet/policy-engine/clock';
import { secureClientOptions } from '@signet/policy-engine/http';
import type { ServerCheck } from '@signet/policy-engine/server-identity';
import { Agent, Client, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { SignetClientError } from '../client-errors.ts';
import {
  expiryProblem,
  type Identity,
  type IdentitySource,
  identityStamp,
  readAuthorities,
  readIdentitySync,
  readKeyPair,
} from './identity.ts';

interface AgentOptions {
  readonly source: IdentitySource;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  readonly readTimeoutMs: number;
  /** The identity files are looked at on use, at most this often. */
  readonly reloadIntervalMs: number;
  readonly maxConnections: number;
  /** `http://` or `https://` URL of a proxy that tunnels (CONNECT). */
  readonly proxy?: string;
  /** Hosts that are reached without the proxy, as in the environment variable `NO_PROXY`. */
  readonly noProxy?: string;
  /** Checks that a certificate is the token server's. */
  readonly isServer: ServerCheck;
}

/** Connections to the token server, and to protected services, which are known by their host names. */
interface Pools {
  readonly server: Dispatcher;
  readonly targets: Dispatcher;
  /** Dispatchers that the two have opened, for each address. */
  readonly opened: ReadonlySet<Dispatcher>;
}

/** A server may close an idle connection earlier and says so (`Keep-Alive: timeout=…`). */
const keepAliveMs = 120_000;

function createPools(identity: Identity, options: AgentOptions): Pools {
  const opened = new Set<Client | Pool>();
  const open = (origin: string | URL, each: Pool.Options): Dispatcher => {
    // Forgets the dispatchers that were closed meanwhile.
    for (const before of opened) if (before.closed || before.destroyed) opened.delete(before);
    const made = each.connections === 1 ? new Client(origin, each) : new Pool(origin, each);
    opened.add(made);
    return made;
  };
  return {
    server: createDispatcher(identity, options, open, { checkServerIdentity: options.isServer }),
    targets: createDispatcher(identity, options, open, {}),
    opened,
  };
}

function createDispatcher(
  identity: Identity,
  options: AgentOptions,
  factory: NonNullable<Agent.Options['factory']>,
  check: { readonly checkServerIdentity?: ServerCheck },
): Dispatcher {
  const tls = {
    ...check,
    cert: identity.certificate,
    key: identity.key,
    ca: identity.caBundle,
    ...secureClientOptions,
    timeout: options.connectTimeoutMs,
  };
  const common = {
    factory,
    connect: tls,
    connections: options.maxConnections,
    pipelining: 1,
    allowH2: false,
    headersTimeout: options.readTimeoutMs,
    bodyTimeout: options.readTimeoutMs,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
  };
  if (options.proxy === undefined) return new Agent(common);
  return new EnvHttpProxyAgent({
    ...common,
    httpProxy: options.proxy,
    httpsProxy: options.proxy,
    noProxy: options.noProxy ?? '',
    requestTls: tls,
    proxyTls: secureClientOptions,
  });
}

/**
 * The pool of connections with the client's present certificate. When the files change, new requests go over a new pool
 * and the old one ends after its last answer, so that no request fails. A certificate and a key that do not fit together
 * (half rotated) or cannot be read leave the old pair in use, and so do CA certificates that cannot be read the old ones;
 * they are looked at again at the next interval. Neither waits for the other: an authority that was taken out ends at once.
 */
export class Agents {
  readonly #options: AgentOptions;
  #identity: Identity;
  #pools: Pools;
  #stamp: string | undefined;
  #lookedAt: number;
  #looking: Promise<void> | undefined;
  #problem: SignetClientError | undefined;
  readonly #closing = new AbortController();
  /** Pools with former certificates, until their last answer. */
  readonly #retiring = new Set<Pools>();

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#identity = readIdentitySync(options.source);
    this.#pools = createPools(this.#identity, options);
    this.#lookedAt = Number.NEGATIVE_INFINITY;
  }

  /** The identity in use. */
  get identity(): Identity {
    return this.#identity;
  }

  /** Error of the files on disk, when they cannot be used. */
  get problem(): SignetClientError | undefined {
    return this.#problem;
  }

  /** Fires when the client is closed. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** The pool for the token server. INVARIANT: the request is dispatched before anything else is awaited. */
  get server(): Dispatcher {
    return this.#open.server;
  }

  /** The pool for protected services, with the same invariant. */
  get targets(): Dispatcher {
    return this.#open.targets;
  }

  get #open(): Pools {
    if (this.closed.aborted) throw new SignetClientError('closed', 'the client is closed');
    const expired = expiryProblem(this.#identity, this.#options.clock.now());
    if (expired !== undefined) throw expired;
    return this.#pools;
  }

  /** Loads changed files, when a check is due. */
  async refresh(): Promise<void> {
    const now = this.#options.clock.now();
    // a clock that stepped back must not stop the looking
    const due = now - this.#lookedAt >= this.#options.reloadIntervalMs || now < this.#lookedAt;
    if (this.#looking === undefined && due) {
      this.#lookedAt = now;
      this.#looking = this.#look().finally(() => {
        this.#looking = undefined;
      });
    }
    await this.#looking;
  }

  async #look(): Promise<void> {
    // stamped before reading: a file that changes meanwhile is read again the next time
    const stamp = await identityStamp(this.#options.source);
    if (stamp === this.#stamp) return;
    const { source } = this.#options;
    const [pair, authorities] = await Promise.allSettled([readKeyPair(source), readAuthorities(source)]);
    const old = this.#identity;
    const caBundle = authorities.status === 'fulfilled' ? authorities.value : old.caBundle;
    this.#swap({ ...(pair.status === 'fulfilled' ? pair.value : old), caBundle });
    const problem = [pair, authorities].find((part) => part.status === 'rejected')?.reason;
    if (problem !== undefined && !(problem instanceof SignetClientError)) throw problem;
    this.#problem = problem;
    if (problem === undefined) this.#stamp = stamp;
  }

  #swap(identity: Identity): void {
    const old = this.#identity;
    const same =
      identity.certificate === old.certificate && identity.key === old.key && identity.caBundle === old.caBundle;
    if (this.closed.aborted || same) return;
    const retired = this.#pools;
    this.#pools = createPools(identity, this.#options);
    this.#identity = identity;
    this.#retiring.add(retired);
    void Promise.allSettled([retired.server.close(), retired.targets.close()]).then(() => {
      this.#retiring.delete(retired);
    });
  }

  /** Ends every connection; requests in flight end with `closed`. */
  async close(): Promise<void> {
    if (this.closed.aborted) return;
    this.#closing.abort();
    // A dispatcher that is closing leaves what it has opened to itself.
    const retiring = [...this.#retiring].flatMap(({ opened }) => [...opened]);
    await Promise.all([this.#pools.server, this.#pools.targets, ...retiring].map((each) => each.destroy()));
  }
}
