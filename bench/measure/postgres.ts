import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { StorePlace } from '@signet/server/config/store-place';
import { processCpuNanoseconds } from './process-cpu.ts';

/** Said instead of figures. */
export const noPostgres = 'Skipped: no PostgreSQL server is installed (Debian: postgresql).';

/** A PostgreSQL server of this run, with its disk writes as they are by default, on a socket in a folder of its own. */
export interface PostgresServer {
  readonly version: string;
  /** Makes an empty database, with the collation of a language. */
  createDatabase(name: string): StorePlace & { readonly kind: 'postgres' };
  /** Rows of fields, of a statement of the superuser. */
  query(database: string, statement: string): readonly (readonly string[])[];
  /** Nanoseconds of processor time of all its processes. */
  cpuNanoseconds(): number;
  stop(): Promise<void>;
}

const port = 5432;
const user = 'signet';

function findPrograms(): string | undefined {
  const parent = '/usr/lib/postgresql';
  const versions = existsSync(parent) ? readdirSync(parent).sort((one, other) => Number(other) - Number(one)) : [];
  return versions.map((version) => join(parent, version, 'bin')).find((folder) => existsSync(join(folder, 'postgres')));
}

/** A server refuses to run as root. */
function unprivileged(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (option: string) => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** Starts a server, with its count of statements; undefined where none is installed. */
export async function startPostgres(): Promise<PostgresServer | undefined> {
  const programs = findPrograms();
  if (programs === undefined) return undefined;
  // Not below the folder of the run, which another user may not enter.
  const folder = mkdtempSync(join(tmpdir(), 'signet-bench-pg-'));
  const ids = unprivileged();
  if (ids.uid !== undefined) chownSync(folder, ids.uid, ids.gid ?? ids.uid);
  const data = join(folder, 'data');
  const program = (name: string) => join(programs, name);
  const make = ['--pgdata', data, '--username', user, '--auth', 'trust', '--encoding', 'UTF8', '--locale', 'C'];
  execFileSync(program('initdb'), make, { ...ids, cwd: folder, stdio: 'pipe' });
  const options = [
    `unix_socket_directories=${folder}`,
    'listen_addresses=',
    'shared_preload_libraries=pg_stat_statements',
  ];
  const child = spawn(program('postgres'), ['-D', data, ...options.flatMap((option) => ['-c', option])], {
    ...ids,
    cwd: folder,
    stdio: 'ignore',
  });
  process.once('exit', () => child.kill('SIGQUIT'));
  const query: PostgresServer['query'] = (database, statement) => {
    const command = ['--host', folder, '--username', user, '--no-psqlrc', '--tuples-only', '--no-align', '--quiet'];
    const text = execFileSync('psql', [...command, '--field-separator', '\t', '--command', statement, database], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const lines = text.split('\n').filter((line) => line !== '');
    return lines.map((line) => line.split('\t'));
  };
  await untilItAnswers(child, () => query('postgres', 'create extension pg_stat_statements'));
  return {
    version: query('postgres', 'show server_version')[0]?.[0] ?? '',
    createDatabase: (database) => {
      const language = `locale_provider icu icu_locale 'en-US'`;
      query('postgres', `create database ${database} template template0 ${language}`);
      const limits = { poolSize: 8, statementTimeoutMs: 60_000, connectTimeoutMs: 2000 };
      return {
        kind: 'postgres',
        hosts: [`${folder}:${port}`],
        database,
        user,
        ...limits,
        listen: true,
        migrate: 'auto',
      };
    },
    query,
    cpuNanoseconds: () => [child.pid ?? 0, ...childrenOf(child.pid ?? 0)].reduce((sum, pid) => sum + cpuOf(pid), 0),
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGINT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilItAnswers(child: ChildProcess, ask: () => unknown): Promise<void> {
  for (let attempt = 0; child.exitCode === null; attempt += 1) {
    try {
      ask();
      return;
    } catch (error) {
      if (attempt === 100) throw error;
      await delay(100);
    }
  }
  throw new Error(`PostgreSQL ended with ${child.exitCode}`);
}

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** A process may end while its costs are read. */
function cpuOf(pid: number): number {
  try {
    return processCpuNanoseconds(pid);
  } catch {
    return 0;
  }
}
