import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { repository } from '#support/dev-world';
import { runProgram } from '#support/run-program';

/* The image is built, twice, and its programs run. Other people's tools read it: umoci unpacks it, skopeo says what it is. */

const needed = ['buildah', 'umoci', 'skopeo', 'dpkg-deb', 'apt-get', 'chroot'];
const missing = needed.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
const hindrance =
  missing.length > 0
    ? `${missing.join(', ')} is not on this machine`
    : process.getuid?.() === 0
      ? undefined
      : 'an image is built as root';

const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
const script = join(repository, 'deploy', 'image', 'build.ts');
const build = (name: string) => runProgram(process.execPath, [script, join(folder, name)]);
const built = hindrance === undefined ? [await build('one'), await build('two')] : [];
const version = 'oci:one:0.2.0';
if (hindrance === undefined) {
  await runProgram('umoci', ['unpack', '--image', 'one:0.2.0', 'unpacked'], { cwd: folder });
}

test.after.always(() => rmSync(folder, { recursive: true, force: true }));

function skipped(t: ExecutionContext): boolean {
  if (hindrance !== undefined) t.log(`skipped: ${hindrance}`);
  return hindrance !== undefined;
}

test('two builds of one commit have one digest', (t) => {
  if (skipped(t)) return t.pass();
  for (const { status, stderr } of built) t.is(status, 0, stderr);
  t.regex(built[0]?.stdout ?? '', /^sha256:[0-9a-f]{64}\n$/);
  t.is(built[0]?.stdout, built[1]?.stdout);
});

test('the image is 150 MB at most', (t) => {
  if (skipped(t)) return t.pass();
  const blobs = join(folder, 'one', 'blobs', 'sha256');
  const bytes = readdirSync(blobs).reduce((sum, name) => sum + statSync(join(blobs, name)).size, 0);
  t.true(bytes < 150e6, `${bytes}`);
  t.log(`${(bytes / 1e6).toFixed(1)} MB`);
});

test('the image runs the server as a user that is not root, and has a volume for its state', async (t) => {
  if (skipped(t)) return t.pass();
  const { stdout, stderr } = await runProgram('skopeo', ['inspect', '--config', version], { cwd: folder });
  t.like(
    JSON.parse(stdout).config,
    {
      User: '65532:65532',
      Entrypoint: ['/node', '/app/server/bin/signet.js'],
      WorkingDir: '/var/lib/signet',
      Volumes: { '/var/lib/signet': {} },
    },
    stderr,
  );
});

test('the programs of the image run on nothing but what is in it', async (t) => {
  if (skipped(t)) return t.pass();
  const inImage = (...args: readonly string[]) =>
    runProgram('chroot', ['--userspec=65532:65532', 'unpacked/rootfs', '/node', ...args], {
      cwd: folder,
      env: { PATH: '/usr/sbin:/usr/bin' },
    });
  t.deepEqual(await inImage('/app/server/bin/signet.js', '--version'), { status: 0, stdout: '0.2.0\n', stderr: '' });
  for (const program of ['updater/bin/signet-updater.js', 'example-provider/bin/signet-example-provider.js']) {
    const { status, stdout, stderr } = await inImage(`/app/${program}`, '--help');
    t.is(status, 0, stderr);
    t.regex(stdout, /^Usage: signet-/);
  }
  const server = '/var/lib/signet/server';
  const made = await inImage('/app/server/bin/signet.js', 'init', server);
  t.is(made.status, 0, made.stderr);
  const checked = await inImage('/app/server/bin/signet.js', 'store', 'check', '--config', `${server}/signet.yaml`);
  t.is(checked.status, 0, checked.stderr);
});

test('nobody but root could write what the image holds, but for its state and /tmp', async (t) => {
  if (skipped(t)) return t.pass();
  const words = ['unpacked/rootfs', '(', '-perm', '/022', '-o', '!', '-user', '0', ')', '!', '-type', 'l'];
  const { stdout } = await runProgram('find', [...words, '-not', '-path', '*/var/lib/signet/*'], { cwd: folder });
  t.deepEqual(stdout.trim().split('\n').toSorted(), ['unpacked/rootfs/tmp', 'unpacked/rootfs/var/lib/signet']);
});
