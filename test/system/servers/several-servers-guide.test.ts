import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import test from 'ava';
import { repository, signetScript } from '#support/dev-world';
import { blocksOf, runBlock } from '#support/guide';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { temporaryFolder } from '#support/temp';

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return String(Object(address).port);
}

test('every command of the guide to several servers does what the guide says', async (t) => {
  t.timeout(600_000);
  if (postgresPrograms === undefined) {
    t.log(`skipped: ${noPostgres}`);
    return t.pass();
  }
  const database = await startPostgres(t);
  const [host = '', port = ''] = database.host.split(':');
  Object.assign(process.env, {
    PATH: `${postgresPrograms}:${process.env['PATH']}`,
    PGHOST: host,
    PGPORT: port,
    PGUSER: database.user,
  });
  const folder = join(temporaryFolder(t), 'work');
  mkdirSync(folder);
  const ports = { '4443': await freePort(), '4543': await freePort() };
  const here = (text: string) =>
    text
      .replace('db1.example.com:5432 db2.example.com:5432', database.host)
      .replace(/ --postgres-(password-file|ca) \S+/g, '')
      .replace('signet init first', 'signet init first --port 4443')
      .replaceAll(/\b(4443|4543)\b/g, (port) => ports[port as keyof typeof ports]);
  const children: ChildProcess[] = [];
  t.teardown(() => {
    for (const child of children) child.kill('SIGKILL');
  });
  const serve = async (line: string): Promise<void> => {
    const [, ...args] = line.split(' ');
    const child = spawn(process.execPath, [signetScript, ...args, '--json'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    children.push(child);
    await once(child.stdout, 'data');
  };
  let all = '';
  for (const { text, kind } of blocksOf(readFileSync(join(repository, 'docs/guides/several-servers.md'), 'utf8'))) {
    if (text.startsWith('signet serve')) {
      await Promise.all(text.trim().split('\n').map(serve));
      continue;
    }
    const { status, stdout, stderr } = await runBlock(folder, folder, here(text));
    t.is(status, kind === 'refused' ? 1 : 0, `${here(text)}\n${stdout}${stderr}`);
    all += `${stdout}${stderr}\n`;
  }
  for (const said of [/^kind +postgres$/m, /^\d+ records, head [0-9a-f]{64}$/m, /"status":"ready"|ready/])
    t.regex(all, said);
  t.false(/^fault:/m.test(all));
  const ended = Promise.all(children.map((child) => once(child, 'close')));
  for (const child of children) child.kill('SIGTERM');
  t.deepEqual(
    (await ended).map(([code]) => code),
    [0, 0],
  );
});
