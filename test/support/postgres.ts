import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
function unprivileged(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (option: string) => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** A test, or whatever else ends things. */
interface Ending {
  teardown(end: () => void | Promise<void>): void;
}

/** How a database compares text where a column says nothing else. */
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
  /** How a store in a database is reached. */
  settings(database: string, changed?: Partial<PostgresSettings>): PostgresSettings;
  /** Runs statements as the superuser. */
  query<Row extends pg.QueryResultRow>(database: string, text: string, values?: unknown[]): Promise<Row[]>;
  /** Sends a signal to the postmaster. */
  signal(signal: NodeJS.Signals): void;
  /** Ends it, without a check point when `hard`. */
  stop(how?: 'fast' | 'hard'): Promise<void>;
  start(): Promise<void>;
}

const port = 5432;
const user = 'signet';

/** Starts a server in a temporary folder; it ends with the test, or with this process. */
export async function startPostgres(t: Ending, options: readonly string[] = []): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-pg-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const ids = unprivileged();
  if (ids.uid !== undefined) chownSync(folder, ids.uid, ids.gid ?? ids.uid);
  const data = join(folder, 'data');
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
  return serverIn(t, { folder, data, ids, options });
}

let shared: Promise<PostgresServer> | undefined;

/** One for all tests of this process; it ends with the process. */
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
const keeper = '"$@" & pid=$!; echo $pid; read -r _; kill -QUIT $pid 2>/dev/null; wait $pid';

async function serverIn(t: Ending, { folder, data, ids, options }: Place): Promise<PostgresServer> {
  let keeping: ChildProcess | undefined;
  let postmaster = 0;
  let databases = 0;
  const usual = [
    'fsync=off',
    'full_page_writes=off',
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
    await until('the database answers', () => canConnect(folder));
  };
  const stop = async (how: 'fast' | 'hard' = 'fast'): Promise<void> => {
    if (keeping === undefined) return;
    keeping.ref();
    const ended = once(keeping, 'exit');
    keeping.stdin?.on('error', () => undefined);
    if (how === 'hard') process.kill(postmaster, 'SIGKILL');
    else process.kill(postmaster, 'SIGINT');
    keeping.stdin?.end();
    await ended;
    keeping = undefined;
  };
  t.teardown(async () => {
    if (keeping === undefined) return;
    process.kill(postmaster, 'SIGCONT');
    await stop('hard');
  });
  await start();
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
      await query('postgres', `create database ${name} template ${template}${locale}`);
      return name;
    },
    settings: (database, changed) => ({
      hosts: [`${folder}:${port}`],
      database,
      user,
      poolSize: 8,
      statementTimeoutMs: 5000,
      connectTimeoutMs: 2000,
      listen: false,
      migrate: 'auto',
      ...changed,
    }),
    signal: (signal) => void process.kill(postmaster, signal),
    stop,
    start,
  };
}

async function canConnect(host: string): Promise<boolean> {
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
