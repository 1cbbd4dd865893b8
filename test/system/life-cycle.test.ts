import { chmodSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { type DevWorld, processesOfGroup, signetScript, startDevWorld } from '#support/dev-world';
import { runProgram } from '#support/run-program';
import { until } from '#support/until';

async function filesReadableByOthers(folder: string): Promise<string[]> {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => /key|\.db/.test(path) && (statSync(path).mode & 0o077) !== 0 && statSync(path).isFile());
}

async function stopped(world: DevWorld): Promise<true | undefined> {
  return (await processesOfGroup(world.pid)).length === 0 ? true : undefined;
}

test('stops everything on SIGTERM, and the next start goes on with the same world', async (t) => {
  const first = await startDevWorld();
  t.teardown(() => first.remove());
  const authority = readFileSync(first.state.caBundle, 'utf8');
  const identity = readFileSync(first.state.identities['media.player']?.cert ?? '', 'utf8');
  t.is(await first.stop('SIGTERM'), 0);
  t.deepEqual(await processesOfGroup(first.pid), []);
  t.deepEqual(await filesReadableByOthers(first.folder), []);
  t.is(statSync(first.folder).mode & 0o777, 0o700);

  // as if the first start had been cut off between two steps
  rmSync(join(first.folder, 'complete.json'));
  rmSync(first.state.identities['media.guest']?.key ?? '');
  const studio = first.state.identities['media.studio']?.cert ?? '';
  const lost = readFileSync(studio, 'utf8');
  rmSync(join(first.folder, 'identities/media.studio'), { recursive: true });

  const again = await startDevWorld({ folder: first.folder });
  t.teardown(() => again.remove());
  t.is(readFileSync(again.state.caBundle, 'utf8'), authority);
  t.is(readFileSync(again.state.identities['media.player']?.cert ?? '', 'utf8'), identity);
  t.not(readFileSync(studio, 'utf8'), lost);
  for (const who of ['media.guest', 'media.studio']) {
    t.is((await again.curl(who, `${again.state.baseUrl}/oauth2/keys`)).status, 200);
  }
  t.is(await again.stop('SIGINT'), 0);
  t.deepEqual(await processesOfGroup(again.pid), []);

  chmodSync(join(first.folder, 'data/signet.db'), 0o644);
  const refused = await again.signet('serve', '--config', join(first.folder, 'signet.yaml'), '--json');
  t.deepEqual({ status: refused.status, stdout: refused.stdout }, { status: 78, stdout: '' });
  t.regex(refused.stderr, /^\{"error":"store `.*` can be read by others: its mode must be 0600"\}\n$/);
});

test('works without a home, and a port that is taken is said in one line', async (t) => {
  const env = { ...process.env, HOME: '/nonexistent' };
  const world = await startDevWorld({ env });
  t.teardown(() => world.remove());
  t.is((await world.curl('media.player', `${world.state.baseUrl}/oauth2/keys`)).status, 200);
  const { port } = new URL(world.state.baseUrl);
  const other = join(world.folder, '../other');
  const { status, stderr, stdout } = await world.signet('dev', '--data', other, '--port', port, '--provider-port', '0');
  t.deepEqual({ status, stdout }, { status: 1, stdout: '' });
  t.regex(
    stderr,
    /^signet: preparing .*\nsignet: starting the token server\nsignet: token server ended with exit status 1: listen\.port: port \d+ of `.*` is in use: stop the other program .*EADDRINUSE.*\n$/,
  );
});

test('killed outright, it leaves no program behind', async (t) => {
  const world = await startDevWorld();
  t.teardown(() => world.remove());
  world.process.kill('SIGKILL');
  await until('every program has noticed', () => stopped(world));
  t.pass();
});

test('a second one in the same folder is refused, and a program that ends is said', async (t) => {
  const world = await startDevWorld();
  t.teardown(() => world.remove());
  const error = await t.throwsAsync(startDevWorld({ folder: world.folder }));
  t.regex(error?.message ?? '', /"error":"folder `.*` is used by process \d+/);
  process.kill(world.state.updaterPid, 'SIGKILL');
  await until('the end of the updater is said', () => /signet: updater was ended by SIGKILL/.test(world.errors()));
  t.is((await world.curl('media.player', `${world.state.baseUrl}/oauth2/keys`)).status, 200);
});

for (const [name, args, status, stderr] of [
  ['nothing to do', [], 2, /Usage: signet/],
  ['an unknown command', ['tokens'], 2, /^signet: unknown command 'tokens': did you mean `token`\?\n$/],
  ['an unknown option', ['keys', 'list', '--all'], 2, /^signet: unknown option '--all'\n/],
  ['a missing option', ['token', 'get'], 2, /^signet: required option '--domain <domain>' not specified\n$/],
  ['a port that is none', ['dev', '--port', 'x'], 2, /^signet: .*port.*\n$/],
  [
    'a folder of something else',
    ['dev', '--data', '/usr'],
    2,
    /^signet: folder `\/usr` contains files that signet dev did not create\n$/,
  ],
  [
    'a configuration that is not there',
    ['keys', 'list', '--config', '/none.yaml'],
    78,
    /^signet: configuration `\/none\.yaml` .*\n$/,
  ],
  ['help', ['token', 'get', '--help'], 0, /^$/],
  ['the version', ['--version'], 0, /^$/],
] as const) {
  test(`exit status of signet with ${name} is ${status}`, async (t) => {
    const answer = await runProgram(process.execPath, [signetScript, ...args]);
    t.is(answer.status, status);
    t.regex(answer.stderr, stderr);
  });
}
