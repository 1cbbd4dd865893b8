import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../release/run.ts';
import { user, writeFiles } from './files.ts';

/*
 * Builds the image of Signet without a registry and without a daemon, as root on Debian with buildah: node deploy/image/build.ts FOLDER.
 * Two builds of one commit with the same libraries have one digest.
 */

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Builds the image into a folder in the layout of OCI, and answers its digest. */
function build(into: string): string {
  if (existsSync(into)) throw new Error(`\`${into}\` exists already: nothing is overwritten`);
  const version = versionOf('server');
  const commit = run('git', ['log', '-1', '--format=%H %ct'], { cwd: repository }).trim().split(' ');
  const [revision = '', committed = ''] = commit;
  const work = mkdtempSync(join(tmpdir(), 'signet-image-'));
  const buildah = tool(work);
  try {
    const container = buildah('from', 'scratch');
    writeFiles(repository, buildah('mount', container));
    buildah('config', ...settings({ version, revision, committed }), container);
    const as = ['--quiet', '--disable-compression=false', '--timestamp', committed];
    buildah('commit', ...as, container, `oci:${into}:${version}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const index = JSON.parse(readFileSync(join(into, 'index.json'), 'utf8'));
  return String(index.manifests[0].digest);
}

/** `buildah` with its storage in a folder of its own, so that nothing is left on the machine. */
function tool(work: string): (...args: readonly string[]) => string {
  const storage = ['--storage-driver', 'vfs', '--root', join(work, 'storage'), '--runroot', join(work, 'run')];
  return (...args) => run('buildah', [...storage, ...args]).trim();
}

interface Source {
  readonly version: string;
  readonly revision: string;
  /** Seconds since the epoch. */
  readonly committed: string;
}

function settings({ version, revision, committed }: Source): string[] {
  const entry = JSON.stringify(['/node', '/app/server/bin/signet.js']);
  const labels = {
    'org.opencontainers.image.title': 'Signet',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.revision': revision,
    'org.opencontainers.image.licenses': 'Apache-2.0',
    'org.opencontainers.image.created': run('date', ['--utc', `--date=@${committed}`, '+%Y-%m-%dT%H:%M:%SZ']).trim(),
  };
  const named = Object.entries(labels).flatMap(([name, value]) => ['--label', `${name}=${value}`]);
  const owner = ['--user', `${user.id}:${user.id}`, '--workingdir', '/var/lib/signet', '--volume', '/var/lib/signet'];
  return ['--entrypoint', entry, '--cmd', '--help', '--port', '4443/tcp', '--env', 'PATH=/', ...owner, ...named];
}

function versionOf(room: string): string {
  return JSON.parse(readFileSync(join(repository, room, 'package.json'), 'utf8')).version;
}

const [into] = process.argv.slice(2);
if (into === undefined) throw new Error('the folder for the image is missing: node deploy/image/build.ts FOLDER');
process.stdout.write(`${build(resolve(into))}\n`);
