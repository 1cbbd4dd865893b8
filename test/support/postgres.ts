import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PostgresSettings } from '@signet/server/config/store-place';
import pg from 'pg';
import { until } from './until.ts';

/** Where the programs of a PostgreSQL server are; undefined where none is installed. */
export const postgresPrograms = findPrograms();

/** Said instead of a test. */
export const noPostgres = 'no PostgreSQL server is installed (Debian: postgresql)';

function findPrograms(): string | undefined {
  const parent = '/usr/lib/postgresql';
  const versions = existsSync(parent) ? readdirSync(parent).sort((one, other) => Number(other) - Number(one)) : [];
  return versions.map((version) => join(parent, version, 'bin')).find((folder) => existsSync(join(folder, 'postgres')));
}

/** A server refuses to run as root: as another user then. */
export function unprivileged(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (option: string) => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** A test, or whatever else ends things. */
interface Ending {
  teardown(end: () => void | Promise<void>): void;
}

/** Comparison of text in a database where a column has none of its own. */
export type Collation = 'C' | 'icu-en-US';

/** A PostgreSQL server of this test, on a socket in a folder of its own. */
export interface PostgresServer {
  /** The folder of the socket: a host of `store.postgres.hosts`. */
  readonly host: string;
  /** The folder with its data. */
  readonly data: string;
  readonly user: string;
  /** Makes an empty database, or a copy of the one named as its template, and answers its name. */
  createDatabase(collation?: Collation, template?: string): Promise<string>;
  /** Settings of a store in a database. */
  settings(database: string, changed?: Partial<PostgresSettings>): PostgresSettings;
  /** Runs statements as the superuser. */
  query<Row extends pg.QueryResultRow>(database: string, text: string, values?: unknown[]): Promise<Row[]>;
  /** Sends a signal to the postmaster. */
  signal(signal: NodeJS.Signals): void;
  /** Ends it, without a check point when `hard`. */
  stop(how?: 'fast' | 'hard'): Promise<void>;
  start(): Promise<void>;
  /** Sends a signal to the postmaster and to every process of it: `SIGSTOP` is a machine that hangs. */
  signalAll(signal: NodeJS.Signals): void;
  /** Ends every process of it at once, as the loss of its machine does. */
  kill(): Promise<void>;
  /** Ends it, copies `primary`, and starts as its standby. */
  follow(primary: PostgresServer): Promise<void>;
  /** Makes a standby the primary, and waits until it is. */
  promote(): Promise<void>;
}

const usualPort = 5432;
const user = 'signet';

/** Starts a server in a temporary folder; it ends with the test, or with this process. */
export async function startPostgres(t: Ending, options: readonly string[] = []): Promise<PostgresServer> {
  const { folder, data, ids } = folderFor(t);
  const make = [
    '--pgdata',
    data,
    '--username',
    user,
    '--auth',
    'trust',
    '--encoding',
    'UTF8',
    '--locale',
    'C',
    '--no-sync',
  ];
  execFileSync(programOf('initdb'), make, { ...ids, cwd: folder, stdio: 'pipe' });
  const server = serverIn(t, { folder, data, ids, options });
  await server.start();
  return server;
}

/** Starts a standby of `primary`, and waits until it follows. */
export async function startStandby(
  t: Ending,
  primary: PostgresServer,
  options: readonly string[] = [],
): Promise<PostgresServer> {
  const standby = serverIn(t, { ...folderFor(t), options });
  await standby.follow(primary);
  return standby;
}

function folderFor(t: Ending): Pick<Place, 'folder' | 'data' | 'ids'> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-pg-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const ids = unprivileged();
  if (ids.uid !== undefined) chownSync(folder, ids.uid, ids.gid ?? ids.uid);
  return { folder, data: join(folder, 'data'), ids };
}

/** How many standbys a server has, or how many of them its commits wait for. */
export async function followers(server: PostgresServer, kind: 'any' | 'sync' = 'any'): Promise<number> {
  const [row] = await server.query<{ any: number; sync: number }>(
    'postgres',
    `select count(*)::int as any, (count(*) filter (where sync_state in ('sync', 'quorum')))::int as sync
       from pg_stat_replication where state = 'streaming' and application_name <> 'pg_basebackup'`,
  );
  return row?.[kind] ?? 0;
}

/** From now on no commit of `primary` is acknowledged before its standby has it; a server that is promoted begins without. */
export async function waitForStandby(primary: PostgresServer): Promise<void> {
  await primary.query('postgres', "alter system set synchronous_standby_names = '*'");
  await primary.query('postgres', 'select pg_reload_conf()');
  await until('the standby is synchronous', async () => (await followers(primary, 'sync')) > 0);
}

let shared: Promise<PostgresServer> | undefined;

/** Server for all tests of this process; it ends with the process. */
export function sharedPostgres(): Promise<PostgresServer> {
  const ends = { teardown: (end: () => unknown) => void process.prependOnceListener('exit', end) };
  shared ??= startPostgres(ends, ['max_connections=500']);
  return shared;
}

function programOf(name: string): string {
  if (postgresPrograms === undefined) throw new Error(noPostgres);
  return join(postgresPrograms, name);
}

interface Place {
  readonly folder: string;
  readonly data: string;
  readonly ids: ReturnType<typeof unprivileged>;
  readonly options: readonly string[];
}

/** The shell ends the server when this process is gone, whatever became of it. */
const keeper =
  '"$@" & pid=$!; echo $pid; read -r _; kill -CONT $pid 2>/dev/null; kill -QUIT $pid 2>/dev/null; wait $pid';

function serverIn(t: Ending, { folder, data, ids, options }: Place): PostgresServer {
  const port = Number(options.findLast((option) => option.startsWith('port='))?.slice('port='.length) ?? usualPort);
  let keeping: ChildProcess | undefined;
  let postmaster = 0;
  let databases = 0;
  const usual = [
    'fsync=off',
    'full_page_writes=off',
    // A worker for each of a hundred small databases in turn took more time than the tests.
    'autovacuum=off',
    'jit=off',
    'shared_buffers=16MB',
    `unix_socket_directories=${folder}`,
    'listen_addresses=',
    'max_connections=60',
  ];
  const settings = [...usual, ...options].flatMap((option) => ['-c', option]);

  const start = async (): Promise<void> => {
    const child = spawn('/bin/sh', ['-c', keeper, 'keeper', programOf('postgres'), '-D', data, ...settings], {
      ...ids,
      cwd: folder,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    keeping = child;
    const [said] = await once(child.stdout, 'data');
    postmaster = Number(String(said).trim());
    // It ends with this process, and keeps it from ending no more than any other file.
    child.unref();
    for (const pipe of [child.stdin, child.stdout]) if (pipe instanceof Socket) pipe.unref();
    await until('the database answers', () => canConnect(folder, port));
  };
  const stop = async (how: 'fast' | 'hard' = 'fast'): Promise<void> => {
    if (keeping === undefined) return;
    keeping.ref();
    const ended = once(keeping, 'exit');
    keeping.stdin?.on('error', () => undefined);
    try {
      process.kill(postmaster, how === 'hard' ? 'SIGKILL' : 'SIGINT');
    } catch {
      // It is gone already.
    }
    keeping.stdin?.end();
    await ended;
    keeping = undefined;
  };
  const signalAll = (signal: NodeJS.Signals): void => {
    const list = `/proc/${postmaster}/task/${postmaster}/children`;
    const children = existsSync(list) ? readFileSync(list, 'utf8').trim().split(' ') : [];
    // The postmaster first: it would start what it misses.
    for (const pid of [postmaster, ...children.filter(Boolean).map(Number)]) {
      try {
        process.kill(pid, signal);
      } catch {
        // It ended by itself.
      }
    }
  };
  const kill = async (): Promise<void> => {
    if (keeping === undefined) return;
    const file = join(data, 'postmaster.pid');
    const [, memory] = /^ *\d+ +(\d+)$/m.exec(existsSync(file) ? readFileSync(file, 'utf8') : '') ?? [];
    signalAll('SIGKILL');
    await stop('hard');
    // Shared memory of a killed server is left behind.
    if (memory !== undefined) await promisify(execFile)('ipcrm', ['-m', memory]).catch(() => undefined);
  };
  t.teardown(kill);
  const query = async <Row extends pg.QueryResultRow>(database: string, text: string, values: unknown[] = []) => {
    const client = new pg.Client({ host: folder, port, user, database });
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    host: `${folder}:${port}`,
    data,
    user,
    query,
    createDatabase: async (collation = 'C', template = 'template0') => {
      databases += 1;
      const name = `store_${databases}`;
      const locale = collation === 'C' ? '' : ` locale_provider icu icu_locale 'en-US'`;
      await query('postgres', `create database ${name} template ${template} strategy file_copy${locale}`);
      return name;
    },
    settings: (database, changed) => ({
      hosts: [`${folder}:${port}`],
      database,
      user,
      poolSize: 8,
      // Long, as a machine may be busy; a test of what does not answer says how long.
      statementTimeoutMs: 60_000,
      connectTimeoutMs: 60_000,
      listen: false,
      migrate: 'auto',
      ...changed,
    }),
    signal: (signal) => void process.kill(postmaster, signal),
    stop,
    start,
    signalAll,
    kill,
    follow: async (primary) => {
      await kill();
      rmSync(data, { recursive: true, force: true });
      const [host = '', from = ''] = primary.host.split(':');
      const source = ['--host', host, '--port', from, '--username', user];
      const copy = ['--pgdata', data, '--write-recovery-conf', '--checkpoint', 'fast', '--no-sync'];
      await promisify(execFile)(programOf('pg_basebackup'), [...source, ...copy], { ...ids, cwd: folder });
      await start();
      await until('the standby follows', async () => (await followers(primary)) > 0);
    },
    promote: async () => {
      // Until it has a standby of its own, it waits for none.
      await query('postgres', 'alter system reset synchronous_standby_names');
      await query('postgres', 'select pg_reload_conf()');
      await query('postgres', 'select pg_promote(true)');
    },
  };
}

async function canConnect(host: string, port: number): Promise<boolean> {
  const client = new pg.Client({ host, port, user, database: 'postgres', connectionTimeoutMillis: 5000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
