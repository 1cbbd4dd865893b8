import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { PostgresServer } from './postgres.ts';
import type { Ending } from './start-server.ts';
import { until } from './until.ts';

const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path));

/** True if a pooler is installed. */
export const hasPgbouncer: boolean = program !== undefined;

/** Said instead of a test. */
export const noPgbouncer = 'no pooler is installed (Debian: pgbouncer)';

/** Starts a pooler of transactions in front of every database of `server`; answers its host, the folder of a socket. */
export async function startPgbouncer(t: Ending, server: PostgresServer, poolSize = 20): Promise<string> {
  if (program === undefined) throw new Error(noPgbouncer);
  const folder = mkdtempSync(join(tmpdir(), 'signet-pgb-'));
  const [host, port] = server.host.split(':');
  const config = join(folder, 'pgbouncer.ini');
  writeFileSync(join(folder, 'users'), `"${server.user}" ""\n`);
  const settings = {
    listen_addr: '',
    listen_port: port,
    unix_socket_dir: folder,
    auth_type: 'trust',
    auth_file: join(folder, 'users'),
    pool_mode: 'transaction',
    default_pool_size: poolSize,
    max_client_conn: 1000,
    // It refuses to run as root.
    ...(process.getuid?.() === 0 && { user: 'nobody' }),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(config, `[databases]\n* = host=${host} port=${port}\n[pgbouncer]\n${lines.join('\n')}\n`);
  // For that other user.
  chmodSync(folder, 0o777);
  const child = spawn(program, ['-q', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (bytes: Buffer) => {
    said += String(bytes);
  });
  t.teardown(async () => {
    const ended = once(child, 'close');
    if (child.exitCode === null && child.kill('SIGINT')) await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  await until('the pooler answers', async () => {
    if (child.exitCode !== null) throw new Error(said);
    const client = new pg.Client({ host: folder, port: Number(port), user: server.user, database: 'postgres' });
    client.on('error', () => undefined);
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  });
  return `${folder}:${port}`;
}
