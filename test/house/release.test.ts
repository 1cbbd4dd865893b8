import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { repository } from '#support/dev-world';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

/* The parts of deploy/release that decide something; `node deploy/release/release.ts --trial` makes the files of a release of any checkout. */

const part = (name: string) => import(pathToFileURL(join(repository, 'deploy', 'release', name)).href);
const { releasedVersion }: typeof import('../../deploy/release/changelog.ts') = await part('changelog.ts');
const sums: typeof import('../../deploy/release/checksums.ts') = await part('checksums.ts');
const { compareNode }: typeof import('../../deploy/release/compare-node.ts') = await part('compare-node.ts');

const released = '## 1.2.3 - 2026-12-01\n\n### Added\n\n- Something.\n\n## 1.2.2 - 2026-11-01\n';

test('the version of a release is the newest with a date', (t) => {
  t.is(releasedVersion(`# Changelog\n\n${released}`), '1.2.3');
  t.is(releasedVersion(`# Changelog\n\n## Unreleased\n\n${released}`), '1.2.3');
});

test('changes without a version, and a version without a date, are not released', (t) => {
  const waiting = `## Unreleased\n\n### Fixed\n\n- A fault.\n\n${released}`;
  t.throws(() => releasedVersion(waiting), { message: /changes under `Unreleased`/ });
  t.throws(() => releasedVersion('# Changelog\n\n## 1.2.3\n'), { message: /names no version with its date/ });
});

test('checksums are those of sha256sum, and their signature holds for them and for nothing else', async (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  mkdirSync(at('out'));
  for (const name of ['b.tgz', 'a.tgz']) writeFileSync(at(`out/${name}`), name);
  sums.writeChecksums(at('out'));
  const checked = await runProgram('sha256sum', ['--check', 'SHA256SUMS'], { cwd: at('out') });
  t.is(checked.stdout, 'a.tgz: OK\nb.tgz: OK\n');
  await runProgram('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'releases', '-f', at('key')]);
  sums.signChecksums(at('out'), at('key'));
  writeFileSync(at('signers'), `releases ${readFileSync(at('key.pub'), 'utf8')}`);
  const verify = (namespace: string, input: string) =>
    runProgram(
      'ssh-keygen',
      ['-Y', 'verify', '-f', at('signers'), '-I', 'releases', '-n', namespace, '-s', at('out/SHA256SUMS.sig')],
      { input },
    );
  const text = readFileSync(at('out/SHA256SUMS'), 'utf8');
  t.is((await verify('signet-release', text)).status, 0);
  t.not((await verify('signet-release', `${text}x`)).status, 0);
  t.not((await verify('git', text)).status, 0);
});

test('Node is compared with the program in the archive that Node lists', async (t) => {
  const folder = temporaryFolder(t);
  const name = 'node-v24.1.0-linux-x64';
  mkdirSync(join(folder, name, 'bin'), { recursive: true });
  const file = join(folder, 'node');
  for (const path of [join(folder, name, 'bin', 'node'), file]) writeFileSync(path, 'the program');
  await runProgram('tar', ['-czf', 'archive', name], { cwd: folder });
  const archive = readFileSync(join(folder, 'archive'));
  const list = `${'0'.repeat(64)}  node-v24.1.0-linux-arm64.tar.gz\n${sums.sha256(archive)}  ${name}.tar.gz\n`;
  const published: Record<string, Buffer> = {
    'v24.1.0/SHASUMS256.txt': Buffer.from(list),
    [`v24.1.0/${name}.tar.gz`]: archive,
  };
  const compare = () =>
    compareNode({
      version: '24.1.0',
      platform: 'linux-x64',
      file,
      fetchBytes: async (path) => published[path] ?? Buffer.alloc(0),
    });
  await t.notThrowsAsync(compare);
  writeFileSync(file, 'another one');
  await t.throwsAsync(compare, { message: /is not the program that Node publishes as node-v24\.1\.0-linux-x64$/ });
  writeFileSync(file, 'the program');
  published['v24.1.0/SHASUMS256.txt'] = Buffer.from(
    list.replace(/\S+( {2}node-v24\.1\.0-linux-x64)/, `${'1'.repeat(64)}$1`),
  );
  await t.throwsAsync(compare, { message: /is not what Node's SHASUMS256\.txt lists$/ });
});

test('nothing is published unless told that the scope is ours', async (t) => {
  const script = join(repository, 'deploy/release/release.ts');
  const out = join(temporaryFolder(t), 'out');
  const words = ['--out', out, '--key', 'none', '--repository', 'https://code.example/signet', '--publish'];
  const { status, stderr } = await runProgram(process.execPath, [script, ...words], { cwd: repository });
  t.is(status, 1);
  t.regex(stderr, /`--publish` needs `--key` and `--scope-is-ours`/);
  for (const room of ['policy-engine', 'client', 'updater', 'server']) {
    const { scripts } = JSON.parse(readFileSync(join(repository, room, 'package.json'), 'utf8'));
    t.regex(scripts.prepublishOnly, /throw Error/, room);
  }
});
