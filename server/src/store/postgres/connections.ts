import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';
import { type PostgresHost, type PostgresSettings, parseHost } from '../../config/store-place.ts';
import { StoreRefusedError, StoreUnavailableError } from '../../errors.ts';
import { isConnectionLost, isOutOfConnections, translateError } from './postgres-errors.ts';
import { numbersAsNumbers } from './value-types.ts';

/** While no host answers as the primary it is looked for after each of these pauses, in milliseconds; with full jitter. */
const firstPauseMs = 100;
const pauseCeilingMs = 1000;
/** So long no connection more is asked of a database that had none left, in milliseconds. */
const narrowMs = 10_000;
/** A machine that is gone is noticed on a connection that nobody uses. */
const keepAliveMs = 10_000;

/** What the connections of servers, and of commands that do what a server does, are called in the database. */
export const serverName = 'signet';
/** The same of commands that look at a database, or copy it. */
export const commandName = 'signet-store';

interface Pooled {
  readonly host: PostgresHost;
  readonly pool: pg.Pool;
  readonly sockets: Set<Socket>;
}

/**
 * The connections of a process to the primary among the hosts. A host that breaks or takes no changes is left when another one is the
 * primary; while there is none, whoever asks is told at once, and it is looked for in the background.
 */
export class PostgresConnections {
  readonly #settings: PostgresSettings;
  readonly #hosts: readonly PostgresHost[];
  readonly #name: string;
  readonly #recovered: (() => void)[] = [];
  #current: Pooled | undefined;
  #why: unknown;
  #looking: Promise<void> | undefined;
  #closing = new AbortController();

  constructor(settings: PostgresSettings, name = serverName) {
    this.#settings = settings;
    this.#name = name;
    this.#hosts = settings.hosts.map(parseHost).filter((host) => host !== undefined);
  }

  /** Finds the primary. Throws what the hosts answered. */
  async open(): Promise<void> {
    this.#use(await this.#elect());
  }

  /** Where the primary is, for messages; undefined while there is none. */
  host(): string | undefined {
    return this.#current?.host.name;
  }

  /** Told when there is a primary again, or another one. */
  onRecovered(listener: () => void): void {
    this.#recovered.push(listener);
  }

  /** A connection to the primary. Throws `StoreUnavailableError`, and what the driver throws. */
  async connect(): Promise<pg.PoolClient> {
    const current = this.#current;
    if (this.#closing.signal.aborted) throw new StoreUnavailableError('the store is closed');
    if (current === undefined) throw this.#unavailable();
    try {
      return await current.pool.connect();
    } catch (error) {
      if (isOutOfConnections(error) && narrow(current.pool, this.#settings.poolSize))
        return await current.pool.connect();
      if (isConnectionLost(error)) this.suspect();
      throw error;
    }
  }

  /** A connection beside the pool, to the primary. Throws as `connect` does. */
  async single(): Promise<pg.Client> {
    if (this.#current === undefined) throw this.#unavailable();
    return await this.#connectTo(this.#current.host);
  }

  /** Looks, if nobody looks already, whether the primary still is one. Never throws. */
  suspect(): void {
    if (this.#closing.signal.aborted) return;
    this.#looking ??= this.#find().finally(() => {
      this.#looking = undefined;
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#leave();
    await this.#looking;
  }

  #unavailable(): StoreUnavailableError {
    const reason = translateError(this.#why);
    return reason instanceof StoreUnavailableError
      ? reason
      : new StoreUnavailableError('the database is not reachable', { cause: this.#why });
  }

  async #find(): Promise<void> {
    for (let pauseMs = firstPauseMs; !this.#closing.signal.aborted; pauseMs = Math.min(2 * pauseMs, pauseCeilingMs)) {
      try {
        this.#use(await this.#elect());
        return;
      } catch (error) {
        this.#why = error;
        this.#leave();
        await sleep(Math.random() * pauseMs, undefined, { signal: this.#closing.signal, ref: false }).catch(
          () => undefined,
        );
      }
    }
  }

  #use(host: PostgresHost): void {
    if (this.#closing.signal.aborted || this.#current?.host === host) return;
    const isFirst = this.#current === undefined && this.#why === undefined;
    this.#leave();
    this.#current = this.#poolOf(host);
    this.#why = undefined;
    if (!isFirst) for (const listener of this.#recovered) listener();
  }

  /** What is in flight ends with its connection: an answer that may never come holds nobody up. */
  #leave(): void {
    const left = this.#current;
    this.#current = undefined;
    left?.pool.end().catch(() => undefined);
    for (const socket of left?.sockets ?? []) socket.destroy();
  }

  #poolOf(host: PostgresHost): Pooled {
    const sockets = new Set<Socket>();
    const pool = new pg.Pool({
      ...this.#optionsOf(host, sockets),
      max: this.#settings.poolSize,
      // Kept: a connection for each request would be the costliest part of it.
      idleTimeoutMillis: 0,
      onConnect: (client: pg.ClientBase) => requirePrimary(client, host),
    } as pg.PoolConfig);
    // Of a connection that nobody uses; without a listener it would end the process.
    pool.on('error', () => this.suspect());
    // Of one that somebody uses: the statement fails with it.
    pool.on('connect', (client) => client.on('error', () => undefined));
    return { host, pool, sockets };
  }

  /** The first host that answers as the primary. Throws the refusal of one that would answer, or what the first host said. */
  async #elect(): Promise<PostgresHost> {
    const found = this.#hosts.map(async (host) => {
      const client = await this.#connectTo(host);
      await client.end().catch(() => undefined);
      return host;
    });
    try {
      return await Promise.any(found);
    } catch (error) {
      const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
      throw errors.find((one) => !(one instanceof StoreRefusedError)) ?? errors[0];
    }
  }

  async #connectTo(host: PostgresHost): Promise<pg.Client> {
    const client = new pg.Client({
      ...this.#optionsOf(host, new Set()),
      query_timeout: this.#settings.connectTimeoutMs,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await requirePrimary(client, host);
      return client;
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    }
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
      ssl: tlsOptions(this.#settings, place),
      // Read for each connection: a password that was replaced counts at once. Never one of the environment.
      password: async () => (passwordFile === undefined ? '' : (await readFile(passwordFile, 'utf8')).trimEnd()),
      stream: () => {
        const socket = new Socket();
        socket.setKeepAlive(true, keepAliveMs);
        sockets.add(socket);
        return socket.once('close', () => sockets.delete(socket));
      },
    };
  }
}

/** TLS with full verification, but on this machine, where it is only used when asked for. */
function tlsOptions({ ca, certificate, key }: PostgresSettings, { host, isLocal }: PostgresHost) {
  if (host.startsWith('/') || (isLocal && ca === undefined)) return false;
  return {
    ...(ca !== undefined && { ca: readFileSync(ca) }),
    ...(certificate !== undefined && { cert: readFileSync(certificate) }),
    ...(key !== undefined && { key: readFileSync(key) }),
    minVersion: 'TLSv1.2' as const,
  };
}

const factsRow = z.object({ standby: z.boolean(), version: z.int(), encoding: z.string() });
const oldestVersion = 130_000;

/** Throws `StoreRefusedError` for a standby, and for a server that this program cannot work with. */
async function requirePrimary(client: pg.ClientBase, { name }: PostgresHost): Promise<void> {
  const { rows } = await client.query(`select pg_is_in_recovery() as standby,
    current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`);
  const { standby, version, encoding } = factsRow.parse(rows[0]);
  if (standby) throw new StoreRefusedError('standby', `database server \`${name}\` is a standby`);
  if (encoding !== 'UTF8')
    throw new StoreRefusedError(
      'encoding',
      `the database on \`${name}\` has the encoding ${encoding}: make one with UTF8`,
    );
  if (version >= oldestVersion) return;
  throw new StoreRefusedError('old-server', `database server \`${name}\` is older than PostgreSQL 13`);
}

/** No connection more is asked for until some time has passed. False where there is none to wait for. */
function narrow(pool: pg.Pool, size: number): boolean {
  if (pool.totalCount === 0) return false;
  pool.options.max = pool.totalCount;
  setTimeout(() => {
    pool.options.max = size;
  }, narrowMs).unref();
  return true;
}
