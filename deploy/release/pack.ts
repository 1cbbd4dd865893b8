import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/*
 * The scope `@signet` of the public registry is not registered for this project, so a dependency on a package there could be anybody's. Each
 * package therefore contains what it uses of the others (`join.ts`); installing one fetches nothing by a name of Signet's.
 */

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Folders of the packages, in the order of their dependencies. */
export const rooms = ['policy-engine', 'client', 'updater', 'server', 'example-provider'] as const;

/**
 * Packs packages of the repository into the folder, which is made, and returns the names of the files. npm's output goes to standard error.
 * `url`: address of the public repository, for the manifests.
 */
export function packAll(into: string, packed: readonly string[] = rooms, url?: string): string[] {
  mkdirSync(into, { recursive: true });
  const copy = mkdtempSync(join(tmpdir(), 'signet-pack-'));
  try {
    copySources(copy);
    if (url !== undefined) for (const room of packed) addRepository(join(copy, room, 'package.json'), room, url);
    const args = ['pack', '--pack-destination', into, ...packed.flatMap((room) => ['-w', room])];
    const { status, error } = spawnSync('npm', args, { cwd: copy, stdio: ['ignore', process.stderr, process.stderr] });
    if (error !== undefined) throw new Error(`npm cannot be run: ${error.message}`);
    if (status !== 0) throw new Error(`\`npm ${args.join(' ')}\` failed (${status}), see its output above`);
  } finally {
    rmSync(copy, { recursive: true });
  }
  return readdirSync(into).filter((file) => file.endsWith('.tgz'));
}

/** Packing writes into the folders of the packages: it works on a copy, so that two runs do not meet, and uses what `npm ci` installed. */
function copySources(into: string): void {
  const isSource = (path: string) => !/^(node_modules|dist|joined)$|\.tsbuildinfo$/.test(basename(path));
  for (const path of ['package.json', 'tsconfig.json', 'policies', 'schemas', 'deploy', ...rooms]) {
    cpSync(join(repository, path), join(into, path), { recursive: true, filter: isSource });
  }
  for (const folder of ['', ...rooms].map((room) => join(room, 'node_modules'))) {
    const installed = join(repository, folder);
    if (existsSync(installed)) symlinkSync(installed, join(into, folder));
  }
}

/** Tells readers of a package where its source, its pages and its issues are. */
export function addRepository(file: string, room: string, url: string): void {
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  const repository = { type: 'git', url: `git+${url}.git`, directory: room };
  const more = { repository, homepage: `${url}#readme`, bugs: `${url}/issues` };
  writeFileSync(file, `${JSON.stringify({ ...manifest, ...more }, undefined, 2)}\n`);
}

/** The command line. */
export function packInto(args: readonly string[]): void {
  const [into, ...more] = args;
  if (into === undefined || into.startsWith('-') || more.length > 0) {
    process.stderr.write('usage: node deploy/release/pack.js FOLDER\n');
    process.exitCode = 2;
    return;
  }
  for (const file of packAll(resolve(into))) process.stdout.write(`${file}\n`);
}
