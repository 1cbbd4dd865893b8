import { spawn } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { parse, stringify } from 'yaml';
import { until } from '#support/until';
import { updaterWorld } from '../updater/support/world.ts';

/* Every program that stays logs lines of one shape (docs/reference/logs.md). */

const top = fileURLToPath(new URL('../..', import.meta.url));
const loggers = ['server/src/logger.ts', 'updater/src/logger.ts'];
const makers = [...loggers, 'policy-engine/src/program-log.ts', 'example-provider/src/main.ts'];

/** Runs Node with these arguments; what it wrote to standard error, as lines. */
async function linesOf(args: readonly string[], cwd = top): Promise<readonly string[]> {
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  return (await text(child.stderr)).split('\n').filter((line) => line !== '');
}

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** What is wrong with a line; undefined when nothing is. */
function faultOf(line: string): string | undefined {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line);
  } catch {
    return 'not JSON';
  }
  const names = Object.keys(entry);
  if (names[0] !== 'level' || names[1] !== 'time' || names.at(-1) !== 'msg') return `members ${names.join()}`;
  if (!['fatal', 'error', 'warn', 'info', 'debug', 'trace'].includes(String(entry['level']))) return 'level';
  if (!time.test(String(entry['time']))) return 'time';
  if (typeof entry['msg'] !== 'string') return 'msg';
  return ['id', 'pid', 'name', 'hostname', 'err'].find((name) => names.includes(name));
}

test('lines are made by the logger of the program, and by nothing else', (t) => {
  const files = globSync('{policy-engine,client,updater,server,example-provider}/src/**/*.ts', { cwd: top });
  const making = files.filter((file) => /\bpino[.(]/.test(readFileSync(join(top, file), 'utf8')));
  t.deepEqual(making.toSorted(), makers.toSorted());
});

for (const logger of loggers) {
  test(`${logger}: level by name, time, members, message`, async (t) => {
    const script = `import { createLogger } from './${logger}';
      const log = createLogger('debug');
      for (const level of ['debug', 'info', 'warn', 'error', 'fatal']) log[level]({ a: 'x\\n{"level":"info"}', error: { name: 'E' } }, 'said');`;
    const lines = await linesOf(['--conditions=@signet/source', '--input-type=module', '-e', script]);
    t.is(lines.length, 5, lines.join('\n'));
    t.deepEqual(lines.map(faultOf).filter(Boolean), []);
    t.deepEqual(
      lines.map((line) => JSON.parse(line).level),
      ['debug', 'info', 'warn', 'error', 'fatal'],
    );
    t.is(JSON.parse(lines[0] ?? '').a, 'x\n{"level":"info"}');
  });
}

test('the updater and the identity agent log such lines', async (t) => {
  const world = await updaterWorld(t);
  await world.server.close();
  writeFileSync(world.configFile, stringify({ ...parse(readFileSync(world.configFile, 'utf8')), logLevel: 'debug' }));
  const updater = await linesOf(['updater/bin/signet-updater.js', 'once', '--config', world.configFile]);
  t.true(updater.length >= 3, updater.join('\n'));
  const who = ['--name', 'media.player', '--instance-id', 'one', '--dir', join(world.folder, 'player')];
  const where = ['--url', world.server.baseUrl, '--ca', join(world.folder, 'ca.pem')];
  const agent = spawn(process.execPath, ['server/bin/signet.js', 'identity', 'run', ...who, ...where], {
    cwd: top,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => agent.kill('SIGKILL'));
  let said = '';
  agent.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  await until('it says that there is no server', () => said.includes('\n'));
  const ended = text(agent.stdout);
  agent.kill('SIGTERM');
  t.is(await ended, '');
  const lines = [...updater, ...said.trim().split('\n')];
  t.deepEqual(lines.map(faultOf).filter(Boolean), []);
  t.like(JSON.parse(lines.at(-1) ?? ''), { level: 'error', outcome: 'failed', msg: 'no new certificate' });
});
