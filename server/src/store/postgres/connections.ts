import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { secureClientOptions } from '@signet/policy-engine/http';
import pg from 'pg';
import { z } from 'zod';
import { type PostgresHost, type PostgresSettings, parseHost } from '../../config/store-place.ts';
import { StoreRefusedError, StoreUnavailableError } from '../../errors.ts';
import type { PoolUse } from '../../model/store.ts';
import { isConnectionLost, isOutOfConnections, translateError } from './postgres-errors.ts';
import { numbersAsNumbers } from './value-types.ts';

/** While no host answers as the primary it is looked for after each of these pauses, in milliseconds; with full jitter. */
const firstPauseMs = 100;
const pauseCeilingMs = 500;
/** Delay before the hosts are queried for a request that finds no primary, in milliseconds: later requests share the answer. */
const gatherMs = 20;
/** A request waits no longer than this for that answer, in milliseconds. */
const answerWaitMs = 250;
/** Pause before another connection is requested of a database that had none left, in milliseconds. */
const narrowMs = 10_000;
/** Keep-alive interval, so that a machine that is gone is noticed on an idle connection. */
const keepAliveMs = 10_000;
/**
 * Time for answers of other hosts, in milliseconds: a host that was left behind by a failover may be the first to claim that it is the primary.
 */
const patienceMs = 100;

/** A connection beside the pool. */
interface SingleConnection {
  readonly lineage: Lineage;
  readonly client: pg.Client;
  /** Waits for nothing: a server that is gone would not say that it is over. */
  end(): void;
}

/** A host that takes changes, and what tells it from one that was the primary before it. */
interface Primary {
  readonly host: PostgresHost;
  readonly lineage: Lineage;
}

/** Application name in the database of the connections of servers, and of commands that do what a server does. */
export const serverName = 'signet';
/** The same of commands that look at a database, or copy it. */
export const commandName = 'signet-store';

interface Pooled {
  readonly host: PostgresHost;
  readonly pool: pg.Pool;
  readonly sockets: Set<Socket>;
}

/**
 * Connections of a process to the primary among the hosts. A host that fails or takes no changes is left when another one is the primary; while
 * there is none, the hosts are queried for each request (concurrent ones share a query), and in the background.
 */
export class PostgresConnections {
  readonly #settings: PostgresSettings;
  readonly #hosts: readonly PostgresHost[];
  readonly #name: string;
  readonly #recovered: (() => void)[] = [];
  /** Sockets of hosts that are asked whether they are the primary. */
  readonly #askedSockets = new Set<Socket>();
  readonly #tls = new Map<PostgresHost, ReturnType<typeof tlsOptions>>();
  #current: Pooled | undefined;
  #newest: Lineage | undefined;
  #why: unknown;
  #looking: Promise<void> | undefined;
  /** The last round of questions that was asked for a request, and the one that has not begun. */
  #round: Promise<void> | undefined;
  #nextRound: Promise<void> | undefined;
  #closing = new AbortController();

  constructor(settings: PostgresSettings, name = serverName) {
    this.#settings = settings;
    this.#name = name;
    this.#hosts = settings.hosts.map(parseHost).filter((host) => host !== undefined);
  }

  /** Finds the primary. Throws what the hosts answered. */
  async open(): Promise<void> {
    try {
      this.#use(await newestOf(this.#hosts.map((host) => this.#ask(host))));
    } catch (error) {
      const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
      // Retryable error first: a host that does not answer may be the primary, and one of several standbys will be.
      throw errors.find((one) => !(one instanceof StoreRefusedError)) ?? promotionAwaited(errors) ?? errors[0];
    }
  }

  /** Host of the primary, for messages; undefined while there is none. */
  host(): string | undefined {
    return this.#current?.host.name;
  }

  /** Adds a listener for a primary that is back, or another one. */
  onRecovered(listener: () => void): void {
    this.#recovered.push(listener);
  }

  /** Use of the pool; zeros while there is no primary. */
  use(): PoolUse {
    const { totalCount = 0, idleCount = 0, waitingCount = 0 } = this.#current?.pool ?? {};
    return { idle: idleCount, busy: totalCount - idleCount, waiting: waitingCount };
  }

  /** A connection to the primary. Throws `StoreUnavailableError`, and what the driver throws. */
  async connect(): Promise<pg.PoolClient> {
    const { pool } = await this.#primary();
    try {
      return await pool.connect();
    } catch (error) {
      if (isOutOfConnections(error) && narrow(pool, this.#settings.poolSize)) return await pool.connect();
      if (!isConnectionLost(error) && !(error instanceof StoreRefusedError)) throw error;
      this.suspect();
      // The host was the primary when it was found.
      throw error instanceof StoreRefusedError ? notReachable(error) : error;
    }
  }

  /** A connection beside the pool, to the primary; it breaks when that one is left. Throws as `connect` does. */
  async single(): Promise<SingleConnection> {
    const { host, sockets } = await this.#primary();
    return await this.#connectTo(host, sockets);
  }

  /** Checks that the primary still is one, unless a check is under way. Never throws. */
  suspect(): void {
    if (this.#closing.signal.aborted) return;
    this.#looking ??= this.#find().finally(() => {
      this.#looking = undefined;
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#leave();
    for (const socket of this.#askedSockets) socket.destroy();
    await this.#looking;
  }

  /**
   * Pool of the primary. If none is known the hosts are asked first: a primary that is there again must not be refused until the next poll in
   * the background.
   */
  async #primary(): Promise<Pooled> {
    if (this.#current === undefined)
      await Promise.race([this.#askNow(), sleep(answerWaitMs, undefined, { ref: false })]);
    return this.#required();
  }

  /** A round of questions that begins after this was called, with at most one under way. Never throws. */
  #askNow(): Promise<void> {
    this.#nextRound ??= Promise.all([this.#round, sleep(gatherMs)]).then(() => {
      this.#nextRound = undefined;
      this.#round = this.#askOnce();
      return this.#round;
    });
    return this.#nextRound;
  }

  async #askOnce(): Promise<void> {
    if (this.#closing.signal.aborted || this.#current !== undefined) return;
    await newestOf(this.#hosts.map((host) => this.#ask(host))).then(
      (primary) => this.#use(primary),
      // The look in the background keeps the reason.
      () => undefined,
    );
  }

  #required(): Pooled {
    if (this.#closing.signal.aborted) throw new StoreUnavailableError('the store is closed');
    if (this.#current !== undefined) return this.#current;
    const reason = translateError(this.#why);
    throw reason instanceof StoreUnavailableError ? reason : notReachable(this.#why);
  }

  /** Queries each host at its own pace: one that does not answer delays no other. */
  async #find(): Promise<void> {
    const found = new AbortController();
    const signal = AbortSignal.any([this.#closing.signal, found.signal]);
    try {
      this.#use(await newestOf(this.#hosts.map((host) => this.#askAgain(host, signal))));
    } catch {
      // The store was closed meanwhile.
    } finally {
      found.abort();
    }
  }

  async #askAgain(host: PostgresHost, signal: AbortSignal): Promise<Primary> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, pauseCeilingMs)) {
      try {
        return await this.#ask(host);
      } catch (error) {
        if (signal.aborted) throw error;
        this.#noteFailure(host, error);
        await sleep(Math.random() * pauseMs, undefined, { signal, ref: false });
      }
    }
  }

  /** A primary that does not answer as one is left. */
  #noteFailure(host: PostgresHost, error: unknown): void {
    if (this.#current !== undefined && this.#current.host !== host) return;
    this.#why = error;
    this.#leave();
  }

  #use({ host, lineage }: Primary): void {
    if (this.#closing.signal.aborted) return;
    this.#newest = lineage;
    if (this.#current?.host === host) return;
    this.#leave();
    this.#current = this.#poolOf(host);
    for (const listener of this.#recovered) listener();
  }

  /** Closes the connections and fails what is in flight: an answer that may never come must not block callers. */
  #leave(): void {
    const left = this.#current;
    this.#current = undefined;
    left?.pool.end().catch(() => undefined);
    for (const socket of left?.sockets ?? []) socket.destroy();
  }

  #poolOf(host: PostgresHost): Pooled {
    const sockets = new Set<Socket>();
    // Files are read for each connection: a replaced password or certificate is used at once.
    const options = () => this.#optionsOf(host, sockets);
    const pool = new pg.Pool({
      max: this.#settings.poolSize,
      connectionTimeoutMillis: this.#settings.connectTimeoutMs,
      // Kept: a connection for each request would be the costliest part of it.
      idleTimeoutMillis: 0,
      Client: class extends pg.Client {
        constructor() {
          super(options());
        }
      },
      onConnect: (client: pg.ClientBase) => this.#requirePrimary(client, host),
    } as pg.PoolConfig);
    // Error of an idle connection; without a listener it would end the process.
    pool.on('error', () => this.suspect());
    // Error of a connection in use: its statement fails with it.
    pool.on('connect', (client) => client.on('error', () => undefined));
    return { host, pool, sockets };
  }

  async #ask(host: PostgresHost): Promise<Primary> {
    const { lineage, end } = await this.#connectTo(host, this.#askedSockets);
    end();
    return { host, lineage };
  }

  async #connectTo(host: PostgresHost, sockets: Set<Socket>): Promise<SingleConnection> {
    const own = new Set<Socket>();
    const client = new pg.Client({
      ...this.#optionsOf(host, own),
      query_timeout: this.#settings.connectTimeoutMs,
    });
    client.on('error', () => undefined);
    for (const socket of own) sockets.add(socket.once('close', () => sockets.delete(socket)));
    const end = (): void => {
      client.end().catch(() => undefined);
      for (const socket of own) socket.destroySoon();
    };
    try {
      await client.connect();
      return { client, end, lineage: await this.#requirePrimary(client, host) };
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Throws `StoreRefusedError` for a standby, one that was the primary once, and a server that this program cannot work with. */
  async #requirePrimary(client: pg.ClientBase, host: PostgresHost): Promise<Lineage> {
    const { connectTimeoutMs } = this.#settings;
    await requireUsable(client, host, connectTimeoutMs);
    const lineage = await lineageOf(client, connectTimeoutMs);
    if (this.#newest?.system !== lineage.system || lineage.timeline >= this.#newest.timeline) return lineage;
    const message = `database server \`${host.name}\` was left behind: another one was promoted since`;
    throw new StoreRefusedError('standby', message);
  }

  #optionsOf(place: PostgresHost, sockets: Set<Socket>): pg.ClientConfig {
    const { database, user, passwordFile, connectTimeoutMs } = this.#settings;
    const { host, port } = place;
    return {
      host,
      port,
      database,
      user,
      application_name: this.#name,
      connectionTimeoutMillis: connectTimeoutMs,
      types: numbersAsNumbers,
      ssl: this.#tlsOf(place),
      // An explicit password, never one of the environment.
      password: async () => (passwordFile === undefined ? '' : (await readFile(passwordFile, 'utf8')).trimEnd()),
      stream: () => {
        const socket = new Socket();
        socket.setKeepAlive(true, keepAliveMs);
        sockets.add(socket);
        return socket.once('close', () => sockets.delete(socket));
      },
    };
  }

  /** While a file is being replaced, what it said before. */
  #tlsOf(host: PostgresHost) {
    try {
      this.#tls.set(host, tlsOptions(this.#settings, host));
    } catch (error) {
      if (!this.#tls.has(host)) throw error;
    }
    return this.#tls.get(host);
  }
}

/** TLS with full verification, but on this machine, where it is only used when asked for. */
function tlsOptions({ ca, certificate, key }: PostgresSettings, { host, isLocal }: PostgresHost) {
  if (host.startsWith('/') || (isLocal && ca === undefined)) return false;
  return {
    ...(ca !== undefined && { ca: readFileSync(ca) }),
    ...(certificate !== undefined && { cert: readFileSync(certificate) }),
    ...(key !== undefined && { key: readFileSync(key) }),
    ...secureClientOptions,
    // The driver names no host where it is an address.
    checkServerIdentity: (_: string, given: PeerCertificate) => checkServerIdentity(host, given),
  };
}

const factsRow = z.object({ standby: z.boolean(), version: z.int(), encoding: z.string() });
const oldestVersion = 130_000;

async function requireUsable(client: pg.ClientBase, { name }: PostgresHost, timeoutMs: number): Promise<void> {
  const { rows } = await client.query({
    text: `select pg_is_in_recovery() as standby,
      current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`,
    query_timeout: timeoutMs,
  } as pg.QueryConfig);
  const { standby, version, encoding } = factsRow.parse(rows[0]);
  if (standby) throw new StoreRefusedError('standby', `database server \`${name}\` is a standby`);
  if (encoding !== 'UTF8')
    throw new StoreRefusedError(
      'encoding',
      `the database on \`${name}\` has the encoding ${encoding}: create a database with UTF8`,
    );
  if (version >= oldestVersion) return;
  throw new StoreRefusedError('old-server', `database server \`${name}\` is older than PostgreSQL 13`);
}

function notReachable(cause: unknown): StoreUnavailableError {
  return new StoreUnavailableError('the database is not reachable', { cause });
}

function promotionAwaited(errors: readonly unknown[]): StoreUnavailableError | undefined {
  const areStandbys = errors.every((error) => error instanceof StoreRefusedError && error.reason === 'standby');
  if (errors.length < 2 || !areStandbys) return undefined;
  return new StoreUnavailableError('all database servers are standbys: changes are not possible now');
}

/** Newest of several primaries: the one promoted last. Throws the `AggregateError` of all when there is none. */
async function newestOf(asked: readonly Promise<Primary>[]): Promise<Primary> {
  const found: Primary[] = [];
  const answers = asked.map((answer) =>
    answer.then((primary) => {
      found.push(primary);
      return primary;
    }),
  );
  const first = await Promise.any(answers);
  await Promise.race([Promise.allSettled(answers), sleep(patienceMs, undefined, { ref: false })]);
  return found.reduce((best, one) => (one.lineage.timeline > best.lineage.timeline ? one : best), first);
}

/** The database cluster, and how often one of its servers was promoted. */
interface Lineage {
  readonly system: string;
  readonly timeline: number;
}

const lineageRow = z.object({ system: z.string(), timeline: z.int() });

/** Lineage of a primary. A service that hides it has to keep old primaries away by itself. */
async function lineageOf(client: pg.ClientBase, timeoutMs: number): Promise<Lineage> {
  try {
    const { rows } = await client.query({
      text: `select (select system_identifier::text from pg_control_system()) as system,
        ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as timeline`,
      query_timeout: timeoutMs,
    } as pg.QueryConfig);
    return lineageRow.parse(rows[0]);
  } catch (error) {
    if (isConnectionLost(error)) throw error;
    return { system: '', timeline: 0 };
  }
}

/** Stops opening connections for some time. False where there is none to wait for. */
function narrow(pool: pg.Pool, size: number): boolean {
  if (pool.totalCount === 0) return false;
  pool.options.max = pool.totalCount;
  setTimeout(() => {
    pool.options.max = size;
  }, narrowMs).unref();
  return true;
}
