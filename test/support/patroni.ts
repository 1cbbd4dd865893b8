import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { z } from 'zod';
import type { Cluster } from './failover.ts';
import { postgresPrograms, unprivileged } from './postgres.ts';
import type { Ending } from './start-server.ts';
import { until } from './until.ts';

/* Patroni cluster of two database servers, with etcd: they decide which is the primary, and no test promotes anything. */

/** True if all programs that this needs are installed. */
export const hasPatroni: boolean =
  postgresPrograms !== undefined && ['/usr/bin/patroni', '/usr/bin/etcd'].every((program) => existsSync(program));

/** Said instead of a run. */
export const noPatroni = 'no Patroni with etcd is installed (Debian: postgresql patroni etcd-server)';

const user = 'signet';
const database = 'signet';
/** The least that Patroni takes: a primary that says nothing for so long is not one any more, in seconds. */
const ttl = 20;

interface Node {
  readonly name: string;
  readonly port: number;
  readonly api: number;
  readonly data: string;
  start(): void;
  /** Ends Patroni and PostgreSQL with everything that they run, at once. */
  kill(): void;
}

/** Starts etcd and two nodes, the standby synchronous; all end with the test. */
export async function startPatroni(t: Ending): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-pat-'));
  const ids = unprivileged();
  if (ids.uid !== undefined) chownSync(folder, ids.uid, ids.gid ?? ids.uid);
  const children: ChildProcess[] = [];
  const run = (name: string, program: string, args: readonly string[]): ChildProcess => {
    const log = openSync(join(folder, `${name}.log`), 'a');
    const child = spawn(program, args, { ...ids, cwd: folder, stdio: ['ignore', log, log] });
    children.push(child);
    return child;
  };
  t.teardown(async () => {
    for (const node of nodes) node.kill();
    const ended = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    for (const child of ended) child.kill('SIGKILL');
    await Promise.all(ended.map((child) => once(child, 'close')));
    rmSync(folder, { recursive: true, force: true });
  });
  const [client = 0, peer = 0, ...ports] = await freePorts(6);
  const nodes: Node[] = ['one', 'two'].map((name, index) =>
    nodeIn({ folder, name, etcd: client, port: ports[index] ?? 0, api: ports[index + 2] ?? 0 }, (args) =>
      run(name, '/usr/bin/patroni', args),
    ),
  );
  startEtcd(run, folder, [client, peer]);
  for (const node of nodes) node.start();
  const primaryOf = async (among: readonly Node[]): Promise<Node | undefined> => {
    for (const node of among) {
      const rows = await queryAt(node, 'postgres', 'select pg_is_in_recovery() as standby').catch(() => []);
      if (rows[0]?.['standby'] === false) return node;
    }
    return undefined;
  };
  const requirePrimary = (among: readonly Node[]) => until('there is a primary', () => primaryOf(among), 180_000);
  const query = async <Row extends pg.QueryResultRow>(text: string): Promise<Row[]> =>
    (await queryAt(await requirePrimary(nodes), database, text)) as Row[];
  const repair = (): Promise<unknown> =>
    until(
      'the standby is one that may take over',
      async () => {
        const asked = await Promise.all(nodes.map(({ api }) => membersAt(api)));
        return asked.some((members) => members.some(({ role }) => role === 'sync_standby'));
      },
      180_000,
    );
  await queryAt(
    await requirePrimary(nodes),
    'postgres',
    `create database ${database} template template0 encoding UTF8`,
  );
  await repair();
  return {
    settings: {
      hosts: nodes.map(({ port }) => `127.0.0.1:${port}`),
      database,
      user,
      poolSize: 8,
      statementTimeoutMs: 5000,
      connectTimeoutMs: 2000,
      listen: true,
      migrate: 'auto',
    },
    query,
    repair: async () => {
      for (const node of nodes) node.start();
      await repair();
    },
    lose: async () => {
      const lost = await requirePrimary(nodes);
      lost.kill();
      await requirePrimary(nodes.filter((node) => node !== lost));
      return performance.now();
    },
  };
}

function startEtcd(
  run: (name: string, program: string, args: readonly string[]) => ChildProcess,
  folder: string,
  [client, peer]: readonly [number, number],
): void {
  const [at, among] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  const options = {
    name: 'only',
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': at,
    'advertise-client-urls': at,
    'listen-peer-urls': among,
    'initial-advertise-peer-urls': among,
    'initial-cluster': `only=${among}`,
  };
  run(
    'etcd',
    '/usr/bin/etcd',
    Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
  );
}

interface NodePlace {
  readonly folder: string;
  readonly name: string;
  readonly etcd: number;
  readonly port: number;
  readonly api: number;
}

function nodeIn({ folder, name, etcd, port, api }: NodePlace, run: (args: readonly string[]) => ChildProcess): Node {
  const data = join(folder, name);
  const sockets = join(folder, `${name}-sockets`);
  mkdirSync(sockets, { mode: 0o777 });
  const { uid, gid } = unprivileged();
  if (uid !== undefined) chownSync(sockets, uid, gid ?? uid);
  const account = { username: user };
  const parameters = { fsync: 'off', full_page_writes: 'on', wal_log_hints: 'on', unix_socket_directories: sockets };
  const config = {
    scope: 'signet',
    name,
    restapi: { listen: `127.0.0.1:${api}`, connect_address: `127.0.0.1:${api}` },
    etcd3: { host: `127.0.0.1:${etcd}` },
    bootstrap: {
      dcs: {
        ttl,
        loop_wait: 2,
        retry_timeout: 5,
        synchronous_mode: true,
        postgresql: { use_pg_rewind: true, parameters },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: data,
      bin_dir: postgresPrograms,
      basebackup: [{ checkpoint: 'fast' }, 'no-sync'],
      pgpass: join(folder, `${name}.pgpass`),
      authentication: { superuser: account, replication: account, rewind: account },
      parameters,
      pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
    },
  };
  const file = join(folder, `${name}.yaml`);
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify(config));
  let child: ChildProcess | undefined;
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  return {
    name,
    port,
    api,
    data,
    start: () => {
      if (!isRunning()) child = run([file]);
    },
    kill: () => {
      const pidFile = join(data, 'postmaster.pid');
      const [said = '', memory] = existsSync(pidFile) ? readPidFile(pidFile) : [];
      const postmaster = Number(said);
      // Patroni first: it would start the others again.
      for (const pid of [child?.pid ?? 0, ...(postmaster > 0 ? [postmaster, ...childrenOf(postmaster)] : [])]) {
        if (pid > 0) killNow(pid);
      }
      // Shared memory of a killed server is left behind.
      if (memory !== undefined) spawnSync('ipcrm', ['-m', memory], { stdio: 'ignore' });
    },
  };
}

const cluster = z.object({ members: z.array(z.object({ role: z.string() })) });

/** Nodes as Patroni lists them; none while it does not answer. */
async function membersAt(api: number): Promise<z.infer<typeof cluster>['members']> {
  try {
    const answer = await fetch(`http://127.0.0.1:${api}/cluster`, { signal: AbortSignal.timeout(2000) });
    return cluster.parse(await answer.json()).members;
  } catch {
    return [];
  }
}

/** The process, and the shared memory that it has. */
function readPidFile(file: string): [process: string | undefined, memory: string | undefined] {
  const text = readFileSync(file, 'utf8');
  return [text.split('\n')[0], /^ *\d+ +(\d+)$/m.exec(text)?.[1]];
}

function childrenOf(pid: number): number[] {
  const list = `/proc/${pid}/task/${pid}/children`;
  return existsSync(list) ? readFileSync(list, 'utf8').trim().split(' ').filter(Boolean).map(Number) : [];
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

async function queryAt({ port }: Node, name: string, text: string): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client({ host: '127.0.0.1', port, user, database: name, connectionTimeoutMillis: 2000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(text)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => Number(Object(server.address()).port));
  for (const server of servers) server.close();
  return ports;
}
