import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { providerScript, repository, signetScript, updaterScript } from '#support/dev-world';
import { freePort } from '#support/free-port';
import { blocksOf } from '#support/guide';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { prometheusFile, promtoolFile } from '#support/promtool';
import { type Finished, runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

/* The whole way of an operator, with the documentation open and nothing else. */

const guide = readFileSync(join(repository, 'docs/guides/production.md'), 'utf8');

/** Programs that a block starts, and how one is told to say on standard output that it answers. */
const daemons: readonly (readonly [line: RegExp, program: string, more: readonly string[]])[] = [
  [/^signet serve /, signetScript, ['--json']],
  [/^signet-example-provider /, providerScript, ['--json']],
  [/^haproxy -f /, 'haproxy', []],
  [/^prometheus /, 'prometheus', []],
];

/** How many commands a block has, without what it writes into files. */
function commandsIn(text: string): number {
  const bare = text.replace(/<<'END'\n.*?^END$/gms, '');
  return bare.split('\n').filter((line) => /^[a-z(]/.test(line)).length;
}

/** Programs that the test's machine lacks; undefined when it has all. */
async function missing(): Promise<string | undefined> {
  if (postgresPrograms === undefined) return noPostgres;
  if (prometheusFile === undefined || promtoolFile === undefined)
    return 'no Prometheus is installed (Debian: prometheus)';
  const { status } = await runProgram('/bin/sh', ['-c', 'command -v haproxy openssl curl']);
  return status === 0 ? undefined : 'haproxy, openssl or curl is not installed';
}

/** Starts what the lines of a block start. Answers what ends ours, with their exit statuses. */
async function startDaemons(
  t: ExecutionContext,
  folder: string,
  lines: readonly string[],
): Promise<(() => Promise<unknown>)[]> {
  const ends: (() => Promise<unknown>)[] = [];
  for (const line of lines) {
    const [, program = '', more = []] = daemons.find(([pattern]) => pattern.test(line)) ?? [];
    const args = [...line.split(' ').slice(1), ...more];
    const isOurs = program.endsWith('.js');
    const child: ChildProcess = isOurs
      ? spawn(process.execPath, [program, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
      : spawn(program, args, { cwd: folder, stdio: 'ignore' });
    const ended = once(child, 'close');
    const end = async (signal: NodeJS.Signals): Promise<unknown> => {
      child.kill(signal);
      const [code] = await ended;
      return code;
    };
    t.teardown(() => end('SIGKILL').then(() => undefined));
    if (isOurs) ends.push(() => end('SIGTERM'));
    if (child.stdout !== null) await Promise.race([once(child.stdout, 'data'), ended]);
  }
  return ends;
}

test('every command of the guide to production does what the guide says', async (t) => {
  t.timeout(600_000);
  const lacks = await missing();
  if (lacks !== undefined) {
    t.log(`skipped: ${lacks}`);
    return t.pass();
  }
  const database = await startPostgres(t);
  const [host = '', port = ''] = database.host.split(':');
  const folder = join(temporaryFolder(t), 'work');
  mkdirSync(folder);
  const names = ['443', '4443', '4543', '4444', '9464', '9564', '9090'];
  const ports = new Map(await Promise.all(names.map(async (name) => [name, String(await freePort())] as const)));
  const here = (text: string) =>
    text
      .replace('db1.example.com:5432 db2.example.com:5432', database.host)
      .replace(/ --postgres-(?:password-file|ca) \S+/g, '')
      .replace('signet init server-1', 'signet init server-1 --port 4443')
      .replaceAll('https://tokens.example.com/', 'https://localhost:443/')
      .replaceAll(/\b10\.0\.0\.[123]\b/g, '127.0.0.1')
      .replaceAll(/(?<=[: ])(443|4443|4543|4444|9464|9564|9090)\b/g, (name) => ports.get(name) ?? name)
      .replaceAll('/opt/signet/deploy', join(repository, 'deploy'));
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: `${postgresPrograms}:${process.env['PATH']}`,
    PGHOST: host,
    PGPORT: port,
    PGUSER: database.user,
  };
  const functions = Object.entries({ signet: signetScript, 'signet-updater': updaterScript })
    .map(([name, script]) => `${name}() { '${process.execPath}' '${script}' "$@"; }\n`)
    .join('');
  const run = (text: string): Promise<Finished> =>
    runProgram('/bin/bash', ['-euo', 'pipefail', '-c', functions + here(text)], { cwd: folder, env });
  let said = '';
  let commands = 0;
  const ends: (() => Promise<unknown>)[] = [];
  for (const { text } of blocksOf(guide)) {
    const lines = text.trim().split('\n');
    if (lines.every((line) => daemons.some(([pattern]) => pattern.test(line)))) {
      ends.push(...(await startDaemons(t, folder, lines.map(here))));
      commands += lines.length;
      continue;
    }
    const [, client] = /^export SIGNET_CONFIG=(\S+)$/m.exec(text) ?? [];
    if (client !== undefined) env['SIGNET_CONFIG'] = client;
    const isQuery = text.includes('/api/v1/query');
    if (isQuery)
      await until('Prometheus has scraped a server', async () =>
        /"value":\[[\d.]+,"[1-9]/.test((await run(text)).stdout),
      );
    const { status, stdout, stderr } = await run(text);
    t.is(status, 0, `${here(text)}\n${stdout}${stderr}`);
    said += `${stdout}${stderr}\n`;
    commands += commandsIn(text);
  }
  t.log(`${commands} commands`);
  for (const wanted of [
    /^ok {7}reachability: the server answers and knows this client$/m,
    /^outcome +registered$/m,
    /api\/identity\/cert\.pem: OK$/m,
    /^ok: 1 domain, 1 fresh$/m,
    /"value":\[[\d.]+,"[1-9]\d*"\]/,
    /^\d+ records, head [0-9a-f]{64}$/m,
  ]) {
    t.regex(said, wanted);
  }
  t.notRegex(said, /^(FAILED|fault:)/m);
  t.deepEqual(await Promise.all(ends.map((end) => end())), [0, 0, 0]);
});
