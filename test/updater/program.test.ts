import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { parse, stringify } from 'yaml';
import { until } from '#support/until';
import { type UpdaterWorld, updaterWorld } from './support/world.ts';

const program = fileURLToPath(new URL('../../updater/bin/signet-updater.js', import.meta.url));

/** Starts the program; it is killed with the test if it still runs. */
function start(t: ExecutionContext, ...args: readonly string[]) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_proxy$/i.test(name)));
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
  t.teardown(() => child.kill('SIGKILL'));
  const stderr = text(child.stderr);
  const exited = once(child, 'exit').then(([status]) => Number(status));
  return { child, stderr, exited };
}

async function finished(t: ExecutionContext, ...args: readonly string[]) {
  const { child, stderr, exited } = start(t, ...args);
  const stdout = await text(child.stdout);
  return { status: await exited, stdout, stderr: await stderr };
}

/** A world whose bundles are good by the machine's clock. */
async function presentWorld(t: ExecutionContext, domains?: readonly string[]): Promise<UpdaterWorld> {
  const world = await updaterWorld(t, domains);
  world.clock.set(performance.timeOrigin + performance.now());
  return world;
}

function change(world: UpdaterWorld, settings: Record<string, unknown>): void {
  writeFileSync(world.configFile, stringify({ ...parse(readFileSync(world.configFile, 'utf8')), ...settings }));
}

test('run says when it is ready, runs again on SIGHUP and SIGUSR1, and ends on SIGTERM with 0', async (t) => {
  const world = await presentWorld(t);
  await world.publish({ version: 1 });
  const { child, exited } = start(t, 'run', '--config', world.configFile, '--json');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  t.deepEqual(JSON.parse(String(line)), {
    ready: true,
    pid: child.pid,
    policyDir: world.policyDir,
    exitStatus: 0,
    domains: { catalog: 'updated' },
  });
  for (const [index, signal] of (['SIGHUP', 'SIGUSR1'] as const).entries()) {
    const served = await world.publish({ version: index + 2 });
    child.kill(signal);
    await until(`${signal} brings the new bundle`, () => world.read('catalog.pol') === served);
  }
  child.kill('SIGTERM');
  t.is(await exited, 0);
  t.is(world.read('.updater.lock'), undefined);
});

test('run ends on SIGTERM while the server is silent', async (t) => {
  const world = await presentWorld(t);
  world.answers.set('catalog', () => undefined);
  const { child, exited } = start(t, 'run', '--config', world.configFile);
  await until('the server is asked', () => world.bundleRequests().length === 1);
  child.kill('SIGTERM');
  t.is(await exited, 0);
});

test('a second updater on the same directory ends with 4 and disturbs nothing', async (t) => {
  const world = await presentWorld(t);
  await world.publish();
  const { child, exited } = start(t, 'run', '--config', world.configFile, '--json');
  await once(createInterface({ input: child.stdout }), 'line');
  const second = await finished(t, 'once', '--config', world.configFile);
  t.is(second.status, 4);
  t.is(
    second.stderr.trim(),
    `signet-updater: policy directory \`${world.policyDir}\` is in use by updater process ${child.pid}`,
  );
  child.kill('SIGTERM');
  t.is(await exited, 0);
  t.is((await finished(t, 'once', '--config', world.configFile)).status, 0);
});

test('a killed updater does not keep the next one out', async (t) => {
  const world = await presentWorld(t);
  await world.publish();
  const { child, exited } = start(t, 'run', '--config', world.configFile, '--json');
  await once(createInterface({ input: child.stdout }), 'line');
  child.kill('SIGKILL');
  await exited;
  t.is((await finished(t, 'once', '--config', world.configFile)).status, 0);
});

interface Ending {
  readonly note: string;
  readonly prepare: (world: UpdaterWorld) => Promise<unknown> | undefined;
  readonly status: number;
  readonly says: RegExp;
}

const endings: readonly Ending[] = [
  {
    note: 'updated',
    prepare: (world) => world.publish(),
    status: 0,
    says: /^catalog: updated \(version 1\.1, expires /,
  },
  {
    note: 'refused',
    prepare: () => undefined,
    status: 1,
    says: /^catalog: refused .*the server answered 404: not found/,
  },
  {
    note: 'an identity that is not there',
    prepare: async (world) => change(world, { key: 'missing.pem' }),
    status: 2,
    says: /^signet-updater: key cannot be read$/,
  },
  {
    note: 'an unknown setting',
    prepare: async (world) => change(world, { policydir: 'x' }),
    status: 2,
    says: /Unrecognized key: "policydir"/,
  },
  {
    note: 'an unsafe directory',
    prepare: async (world) => {
      await world.publish();
      await world.runOnce();
      chmodSync(world.policyDir, 0o777);
    },
    status: 2,
    says: /can be written by everyone/,
  },
  { note: 'no server', prepare: (world) => world.server.close(), status: 3, says: /ECONNREFUSED/ },
  {
    note: 'a server of another authority',
    prepare: async (world) => {
      writeFileSync(join(world.folder, 'ca.pem'), (await world.pki.issue('nobody')).cert);
    },
    status: 3,
    says: /no trusted connection/,
  },
  {
    note: 'a forged bundle',
    prepare: async (world) => {
      await world.publish();
      world.answers.set('catalog', (_, response) => void response.end('{}'));
    },
    status: 5,
    says: /^catalog: rejected .*bundle is malformed/,
  },
];

for (const { note, prepare, status, says } of endings) {
  test(`once ends with ${status}: ${note}`, async (t) => {
    const world = await presentWorld(t);
    await prepare(world);
    const { status: actual, stdout, stderr } = await finished(t, 'once', '--config', world.configFile);
    t.is(actual, status);
    t.regex((stdout + stderr).trim(), says);
  });
}

test('status and check tell fresh, stale, missing, expired and bad apart, without the server', async (t) => {
  const world = await presentWorld(t, ['catalog', 'media']);
  const now = world.clock.now();
  const ask = async (command: string) => {
    const { status, stdout } = await finished(t, command, '--config', world.configFile, '--json');
    const { domains, exitStatus } = JSON.parse(stdout) as { domains: { state: string }[]; exitStatus: number };
    t.is(exitStatus, status);
    return [status, ...domains.map(({ state }) => state)];
  };
  await world.publish();
  await world.runOnce();
  await world.server.close();
  t.deepEqual(await ask('status'), [1, 'fresh', 'missing']);
  t.deepEqual(await ask('check'), [1, 'good', 'missing']);

  world.clock.set(now);
  writeFileSync(join(world.policyDir, 'media.pol'), JSON.stringify(await world.sign({ domain: 'media' })));
  t.deepEqual(await ask('check'), [0, 'good', 'good']);
  t.deepEqual(await ask('status'), [1, 'fresh', 'stale']);

  const expired = await world.sign({ issued: now - 1000, expires: now - 1 });
  writeFileSync(join(world.policyDir, 'catalog.pol'), JSON.stringify(expired));
  t.deepEqual(await ask('check'), [5, 'expired', 'good']);
  t.deepEqual(await ask('status'), [5, 'expired', 'stale']);

  writeFileSync(join(world.policyDir, 'catalog.pol'), JSON.stringify(await world.sign({ version: 0 })));
  t.deepEqual(await ask('check'), [5, 'bad', 'good']);
});

for (const args of [[], ['nonsense'], ['once', '--nonsense'], ['once', '--config', '/nowhere/x.yaml']]) {
  test(`the command line ${JSON.stringify(args)} ends with 2`, async (t) => {
    t.is((await finished(t, ...args)).status, 2);
  });
}

test('--help ends with 0 and lists the exit statuses', async (t) => {
  const { status, stdout } = await finished(t, '--help');
  t.is(status, 0);
  t.regex(stdout, /Exit status: 0 everything fresh/);
});
