import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { releasedVersion } from './changelog.ts';
import { signChecksums, writeChecksums } from './checksums.ts';
import { compareNode } from './compare-node.ts';
import { joinedPackages } from './join.ts';
import { packAll, rooms } from './pack.ts';
import { run } from './run.ts';

/*
 * Makes the files of a release: packages, software bills of materials, image, checksums and their signature. `--trial` makes them of any checkout and
 * signs nothing. `--publish` gives the packages to the registry that npm is configured for, and only with `--scope-is-ours`: whoever owns the
 * scope `@signet` there could publish other code under these names.
 */

const repository = fileURLToPath(new URL('../..', import.meta.url));

const usage =
  'node deploy/release/release.ts --out FOLDER (--key FILE --repository URL [--publish --scope-is-ours] | --trial) [--no-image]';
const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    key: { type: 'string' },
    trial: { type: 'boolean', default: false },
    repository: { type: 'string' },
    publish: { type: 'boolean', default: false },
    'scope-is-ours': { type: 'boolean', default: false },
    image: { type: 'boolean', default: true },
  },
  allowNegative: true,
});

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function manifestOf(room: string): { readonly version: string; readonly license?: string; readonly private?: boolean } {
  return JSON.parse(readFileSync(join(repository, room, 'package.json'), 'utf8'));
}

/** What is released is what was tagged and signed, and says which version it is everywhere. */
function checkSource(): string {
  const version = releasedVersion(readFileSync(join(repository, 'CHANGELOG.md'), 'utf8'));
  for (const room of rooms) {
    if (manifestOf(room).version !== version) throw new Error(`${room}/package.json is not of version ${version}`);
  }
  if (run('git', ['status', '--porcelain'], { cwd: repository }) !== '')
    throw new Error('there are changes without a commit');
  const tag = `v${version}`;
  run('git', ['verify-tag', tag], { cwd: repository });
  const [tagged, here] = [`${tag}^{commit}`, 'HEAD'].map((name) =>
    run('git', ['rev-parse', name], { cwd: repository }),
  );
  if (tagged !== here) throw new Error(`${tag} is not what is checked out`);
  return version;
}

async function checkNode(): Promise<void> {
  const folder = join(repository, 'node_modules', `node-linux-${process.arch}`);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const fetchBytes = async (path: string) => {
    const answer = await fetch(`https://nodejs.org/dist/${path}`);
    if (!answer.ok) throw new Error(`${answer.url} answers ${answer.status}`);
    return answer.bytes();
  };
  const platform = `linux-${process.arch}`;
  await compareNode({ version, platform, file: join(folder, 'bin', 'node'), fetchBytes });
}

/** Publishes the public packages of the folder; with `--dry-run` npm only checks them. */
function publishPackages(out: string, ...options: readonly string[]): void {
  for (const room of rooms.filter((each) => manifestOf(each).private !== true)) {
    const [file = ''] = globSync(`signet-${room}-[0-9]*.tgz`, { cwd: out });
    run('npm', ['publish', ...options, '--access', 'public', join(out, file)], { cwd: tmpdir() });
  }
}

/** A list of everything that each package needs, in CycloneDX 1.6. */
function listContents(out: string, version: string): void {
  const tool = join(repository, 'deploy', 'tools', 'node_modules', '.bin', 'cyclonedx-npm');
  if (!existsSync(tool)) throw new Error('the tools are not installed: npm ci --prefix deploy/tools');
  const form = ['--spec-version', '1.6', '--output-format', 'JSON', '--output-reproducible', '--omit', 'dev'];
  for (const room of rooms) {
    const file = join(out, `signet-${room}-${version}.cdx.json`);
    run(tool, [...form, '--workspace', room, '--output-file', file, 'package.json'], { cwd: repository });
    if (room === 'server') listJoined(file);
  }
}

/** Adds the packages that the server contains: in the lock file they are needed for its development only. */
function listJoined(file: string): void {
  const list = JSON.parse(readFileSync(file, 'utf8'));
  const joined = joinedPackages.map((name) => {
    const { version, license } = manifestOf(join('node_modules', name));
    const purl = `pkg:npm/${name}@${version}`;
    return {
      type: 'library',
      name,
      version,
      'bom-ref': `joined|${purl}`,
      purl,
      licenses: [{ license: { id: license } }],
    };
  });
  writeFileSync(file, `${JSON.stringify({ ...list, components: [...list.components, ...joined] }, undefined, 2)}\n`);
}

function buildImage(out: string, version: string): void {
  const work = mkdtempSync(join(tmpdir(), 'signet-release-'));
  try {
    const script = join(repository, 'deploy', 'image', 'build.ts');
    say(`image ${run(process.execPath, [script, join(work, 'image')]).trim()}`);
    const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
    run('tar', [...same, '-cf', join(out, `signet-image-${version}.tar`), '-C', join(work, 'image'), '.']);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function release(out: string, key: string | undefined): Promise<void> {
  const version = key === undefined ? manifestOf('server').version : checkSource();
  mkdirSync(out);
  if (key !== undefined) await checkNode();
  else say('trial: not asked whether the source is tagged and Node is the one that Node publishes; nothing is signed');
  packAll(out, rooms, values.repository);
  publishPackages(out, '--dry-run');
  listContents(out, version);
  if (values.image) buildImage(out, version);
  else say('no image is built');
  writeChecksums(out);
  if (key !== undefined) signChecksums(out, key);
  if (values.publish) publishPackages(out);
  for (const file of globSync('*', { cwd: out }).toSorted()) say(basename(file));
}

if (values.out === undefined || (values.key === undefined) !== values.trial) throw new Error(`usage: ${usage}`);
if ((values.repository === undefined) !== values.trial) throw new Error(`usage: ${usage}`);
if (values.publish && (values.trial || !values['scope-is-ours'])) {
  throw new Error(
    '`--publish` needs `--key` and `--scope-is-ours`: publish only where the scope @signet belongs to this project',
  );
}
await release(resolve(values.out), values.key);
