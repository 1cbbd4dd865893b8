import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { repository } from '#support/dev-world';
import { until } from '#support/until';
import { updaterWorld } from '../updater/support/world.ts';

/* Log lines of long-running programs have one shape (docs/reference/logs.md). */

const lineSchema = z.looseObject({
  level: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace']),
  time: z.iso.datetime({ precision: 3 }),
  msg: z.string(),
  ...Object.fromEntries(['id', 'pid', 'name', 'hostname', 'err'].map((name) => [name, z.undefined().optional()])),
});

/** Parsed log lines; throws for a line of another shape. */
function parseLines(output: string): Record<string, unknown>[] {
  return output
    .trim()
    .split('\n')
    .map((line) => {
      const entry = lineSchema.parse(JSON.parse(line));
      const names = Object.keys(JSON.parse(line));
      if (names[0] !== 'level' || names[1] !== 'time' || names.at(-1) !== 'msg') throw new Error(line);
      return entry;
    });
}

function start(args: readonly string[]) {
  return spawn(process.execPath, args, { cwd: repository, stdio: ['ignore', 'ignore', 'pipe'] });
}

for (const logger of ['server/src/logger.ts', 'updater/src/logger.ts']) {
  test(`${logger}: level by name, one line for each message`, async (t) => {
    const levels = ['debug', 'info', 'warn', 'error', 'fatal'];
    const script = `import { createLogger } from './${logger}';
      const log = createLogger('debug');
      for (const level of ${JSON.stringify(levels)}) log[level]({ a: 'x\\n{"level":"info"}', error: { name: 'E' } }, 'said');`;
    const { stderr } = start(['--conditions=@signet/source', '--input-type=module', '-e', script]);
    const lines = parseLines(await text(stderr));
    t.deepEqual(
      lines.map(({ level, a }) => [level, a]),
      levels.map((level) => [level, 'x\n{"level":"info"}']),
    );
  });
}

test('the updater and the identity agent log such lines', async (t) => {
  const world = await updaterWorld(t);
  await world.server.close();
  writeFileSync(world.configFile, stringify({ ...parse(readFileSync(world.configFile, 'utf8')), logLevel: 'debug' }));
  const updater = start(['updater/bin/signet-updater.js', 'once', '--config', world.configFile]);
  t.true(parseLines(await text(updater.stderr)).length > 0);
  const who = ['--name', 'media.player', '--instance-id', 'one', '--dir', join(world.folder, 'player')];
  const where = ['--url', world.server.baseUrl, '--ca', join(world.folder, 'ca.pem')];
  const agent = start(['server/bin/signet.js', 'identity', 'run', ...who, ...where]);
  t.teardown(() => agent.kill('SIGKILL'));
  let said = '';
  agent.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  await until('it logs that there is no server', () => said.includes('\n'));
  t.like(parseLines(said).at(-1), { level: 'error', outcome: 'failed', msg: 'no new certificate' });
});
