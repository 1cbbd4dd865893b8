import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@signet/updater/program';
import test, { type ExecutionContext } from 'ava';
import { parse, stringify } from 'yaml';
import { until } from '#support/until';
import { answer } from '../client/support/tls-server.ts';
import { type UpdaterWorld, updaterWorld } from './support/world.ts';

const program = fileURLToPath(new URL('../../updater/bin/signet-updater.js', import.meta.url));

/** Every test here starts a process or two, all at the same time: on a busy machine the last ones wait. In milliseconds. */
const deadlineMs = 500_000;

/** Starts the program; it is killed with the test if it still runs. */
function start(t: ExecutionContext, args: readonly string[], variables: Readonly<Record<string, string>> = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !/_proxy$/i.test(name));
  const env = { ...Object.fromEntries(inherited), ...variables };
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  const exited = once(child, 'close').then(([status]) => Number(status));
  /** Output on standard error so far. */
  const errors = () => said;
  return { child, errors, exited };
}

/** Runs a command to its end as the program does, but in this process. */
async function finished(...args: readonly string[]) {
  let [stdout, stderr] = ['', ''];
  const status: number = await runProgram(args, {
    print: (line) => {
      stdout += `${line}\n`;
    },
    complain: (line) => {
      stderr += `signet-updater: ${line}\n`;
    },
    signal: new AbortController().signal,
    onWakeUp: () => undefined,
    onReload: () => undefined,
  });
  return { status, stdout, stderr };
}

async function ended({ child, errors, exited }: ReturnType<typeof start>) {
  const stdout = await text(child.stdout);
  return { status: await exited, stdout, stderr: errors() };
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
  const { child, exited } = start(t, ['run', '--config', world.configFile, '--json']);
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
    await until(`${signal} brings the new bundle`, () => world.read('catalog.pol') === served, deadlineMs);
  }
  child.kill('SIGTERM');
  t.is(await exited, 0);
});

test('run takes another configuration into use on SIGHUP, and keeps the one before when it is bad', async (t) => {
  const world = await presentWorld(t);
  await world.publish();
  await world.publish({ domain: 'media' });
  change(world, { logLevel: 'info' });
  const { child, errors, exited } = start(t, ['run', '--config', world.configFile, '--json']);
  await once(createInterface({ input: child.stdout }), 'line');
  change(world, { domains: ['catalog', 'media'] });
  child.kill('SIGHUP');
  await until('the other domain comes', () => world.read('media.pol') !== undefined, deadlineMs);
  change(world, { domains: ['../..'] });
  child.kill('SIGHUP');
  const error = () => JSON.parse(world.read('status.json') ?? '{}').configurationError;
  await until('the status says what is wrong', () => error() !== undefined, deadlineMs);
  t.regex(error(), /domains.0: not a domain name/);
  child.kill('SIGTERM');
  t.is(await exited, 0);
  t.regex(errors(), /configuration loaded/);
  t.regex(errors(), /not a domain name.*configuration cannot be loaded, the previous one stays in use/);
});

test('run ends on SIGTERM while the server is silent', async (t) => {
  const world = await presentWorld(t);
  world.answers.set('catalog', () => undefined);
  const { child, exited } = start(t, ['run', '--config', world.configFile]);
  await until('the server is asked', () => world.bundleRequests().length === 1, deadlineMs);
  child.kill('SIGTERM');
  t.is(await exited, 0);
});

test('a run that the server asked to leave out is left out, whoever asks for it', async (t) => {
  const world = await presentWorld(t);
  world.answers.set('catalog', (_, response) => answer(response, 503, { code: 503 }, { 'retry-after': '3600' }));
  change(world, { logLevel: 'info' });
  const { child, errors, exited } = start(t, ['run', '--config', world.configFile, '--json']);
  await once(createInterface({ input: child.stdout }), 'line');
  child.kill('SIGHUP');
  await until('it is left out', () => errors().includes('run skipped, as requested by the server'), deadlineMs);
  child.kill('SIGTERM');
  t.is(await exited, 0);
  t.deepEqual(world.bundleRequests(), ['catalog -']);
});

test('a second updater on the same directory ends with 6 and disturbs nothing', async (t) => {
  const world = await presentWorld(t);
  await world.publish();
  const { child, exited } = start(t, ['run', '--config', world.configFile, '--json']);
  await once(createInterface({ input: child.stdout }), 'line');
  const second = await ended(start(t, ['once', '--config', world.configFile]));
  t.is(second.status, 6);
  t.is(
    second.stderr.trim(),
    `signet-updater: policy directory \`${world.policyDir}\` is in use by another updater: stop it, or set another \`policyDir\` for this one`,
  );
  for (const command of ['status', 'check']) {
    const { status, stderr } = await ended(start(t, [command, '--config', world.configFile]));
    t.deepEqual([status, stderr], [0, ''], `${command} only reads`);
  }
  child.kill('SIGTERM');
  t.is(await exited, 0);
  t.is((await ended(start(t, ['once', '--config', world.configFile]))).status, 0);
});

test('a killed updater does not keep the next one out', async (t) => {
  const world = await presentWorld(t);
  await world.publish();
  const { child, exited } = start(t, ['run', '--config', world.configFile, '--json']);
  await once(createInterface({ input: child.stdout }), 'line');
  child.kill('SIGKILL');
  await exited;
  t.is((await ended(start(t, ['once', '--config', world.configFile]))).status, 0);
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
    says: /^signet-updater: key: `[^`]+missing\.pem` does not exist$/,
  },
  {
    note: 'a setting that is missing',
    prepare: async (world) => change(world, { policyDir: undefined }),
    status: 2,
    says: /`: policyDir: required$/,
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
  {
    note: 'a pipe in the place of a bundle',
    prepare: async (world) => {
      await world.publish();
      await world.runOnce();
      rmSync(join(world.policyDir, 'catalog.pol'));
      execFileSync('mkfifo', [join(world.policyDir, 'catalog.pol')]);
    },
    status: 2,
    says: /^catalog: unsafe .*holds `catalog.pol`, which is not a plain file$/,
  },
  {
    note: 'a name that no server has',
    prepare: async (world) => change(world, { baseUrl: 'https://signet.invalid/v1' }),
    status: 3,
    says: /ENOTFOUND|EAI_AGAIN/,
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
    const { status: actual, stdout, stderr } = await finished('once', '--config', world.configFile);
    t.is(actual, status);
    t.regex((stdout + stderr).trim(), says);
  });
}

test('status and check tell fresh, stale, missing, expired and bad apart, without the server', async (t) => {
  const world = await presentWorld(t, ['catalog', 'media']);
  const now = world.clock.now();
  const ask = async (command: string) => {
    const { status, stdout } = await finished(command, '--config', world.configFile, '--json');
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

test('status names keys of the server that are left out', async (t) => {
  const world = await presentWorld(t);
  world.published.push({ kty: 'OKP', kid: 'odd', alg: 'EdDSA', use: 'sig' } as never);
  await world.publish();
  await world.runOnce();
  const ask = (...options: string[]) => finished('status', '--config', world.configFile, ...options);
  const { status, stdout } = await ask();
  t.is(status, 0);
  t.regex(
    stdout,
    /^ok: 1 domain, 1 fresh\ncatalog: fresh .*\nkeys: key `odd` is of an unknown type \(`kty`\); it is left out\n$/,
  );
  t.deepEqual(JSON.parse((await ask('--json')).stdout).keys.leftOut, ['key `odd` is of an unknown type (`kty`)']);
  world.published.pop();
  await world.runOnce();
  t.false('leftOut' in JSON.parse((await ask('--json')).stdout).keys);
});

test('HTTPS_PROXY is used and NO_PROXY honoured', async (t) => {
  const world = await presentWorld(t);
  await world.publish();
  const asked: string[] = [];
  const proxy = createServer().on('connect', ({ url = '' }: IncomingMessage, socket: Duplex) => {
    asked.push(url);
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => proxy.close());
  const address = proxy.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const variables = { HTTPS_PROXY: `http://user:secret@127.0.0.1:${port}` };
  const args = ['once', '--config', world.configFile];
  const through = await ended(start(t, args, variables));
  t.is(through.status, 3);
  t.false((through.stdout + through.stderr).includes('secret'));
  t.deepEqual([...new Set(asked)], [new URL(world.server.baseUrl).host]);
  asked.length = 0;
  t.is((await ended(start(t, args, { ...variables, NO_PROXY: 'localhost' }))).status, 0);
  t.deepEqual(asked, []);
});

test('a host that slept is asked for soon after it wakes, and there is no storm', async (t) => {
  const world = await presentWorld(t);
  await world.publish();
  const { child, exited } = start(t, ['run', '--config', world.configFile, '--json']);
  await once(createInterface({ input: child.stdout }), 'line');
  child.kill('SIGSTOP');
  // longer than the five seconds from which on a gap counts as sleep
  await pause(7000);
  const before = world.bundleRequests().length;
  child.kill('SIGCONT');
  await until('it polls', () => world.bundleRequests().length > before, deadlineMs);
  await pause(2500);
  // one for the wake-up, and one when its minute was due
  t.true(world.bundleRequests().length - before <= 2);
  child.kill('SIGTERM');
  t.is(await exited, 0);
});

for (const command of ['status', 'check']) {
  test(`${command} looks at the directory itself, and at what is in the place of a bundle`, async (t) => {
    const world = await presentWorld(t);
    await world.publish();
    await world.runOnce();
    const bundle = join(world.policyDir, 'catalog.pol');
    rmSync(bundle);
    symlinkSync('/etc/passwd', bundle);
    const odd = await finished(command, '--config', world.configFile);
    t.is(odd.status, 5);
    t.regex(odd.stdout, /catalog: bad .*holds `catalog.pol`, which is not a plain file/);
    chmodSync(world.policyDir, 0o757);
    t.deepEqual(await finished(command, '--config', world.configFile), {
      status: 2,
      stdout: '',
      stderr: `signet-updater: policy directory \`${world.policyDir}\` can be written by everyone\n`,
    });
  });
}

for (const args of [[], ['nonsense'], ['once', '--nonsense'], ['once', '--config', '/nowhere/x.yaml']]) {
  test(`the command line ${JSON.stringify(args)} ends with 2`, async (t) => {
    t.is((await finished(...args)).status, 2);
  });
}

test('--version says which one it is', async (t) => {
  const { status, stdout } = await ended(start(t, ['--version']));
  t.is(status, 0);
  t.regex(stdout, /^\d+\.\d+\.\d+\n$/);
});

test('--help ends with 0 and lists the exit statuses', async (t) => {
  const { status, stdout } = await ended(start(t, ['--help']));
  t.is(status, 0);
  t.regex(stdout, /Exit status: 0 all up to date/);
});

test('an updater without any domain says so, in every command and its exit status', async (t) => {
  const world = await updaterWorld(t);
  mkdirSync(join(world.folder, 'domains.d'));
  const { domains: _, ...settings } = parse(readFileSync(world.configFile, 'utf8'));
  writeFileSync(world.configFile, stringify({ ...settings, domainsDir: 'domains.d', logLevel: 'silent' }));
  const says = 'no domain to follow: add one to `domains` or to a file in `domainsDir`';
  const run = async (...args: string[]) => await finished(...args, '--config', world.configFile);
  t.deepEqual(await run('once'), { status: 1, stdout: `${says}\n`, stderr: '' });
  t.like(JSON.parse((await run('once', '--json')).stdout), { exitStatus: 1, domains: {}, problem: says });
  const checked = await run('check');
  t.is(checked.status, 1);
  t.is(checked.stdout.split('\n')[1], says);
  t.deepEqual(await run('status'), { status: 1, stdout: `degraded: 0 domains; ${says}\n`, stderr: '' });
});
