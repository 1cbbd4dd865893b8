import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './run.ts';

/*
 * Nobody has claimed the scope `@signet` of the public registry for us, so a dependency on a package there could be anybody's. The packages of a release
 * carry those of ours that they need; installing one fetches nothing by a name of ours.
 */

const scope = '@signet/';
const rooms = ['policy-engine', 'client', 'updater', 'server', 'example-provider'] as const;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Packs every package of the repository into the folder, and answers the names of the files. */
export function packAll(repository: string, into: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'signet-pack-'));
  try {
    const plain = join(folder, 'plain');
    mkdirSync(plain);
    const all = rooms.flatMap((room) => ['-w', room]);
    run('npm', ['pack', '--silent', '--pack-destination', plain, ...all], { cwd: repository });
    for (const file of readdirSync(plain)) unpack(join(plain, file), join(folder, roomOf(file)));
    for (const room of rooms) {
      const carrying = join(folder, `carrying-${room}`);
      cpSync(join(folder, room), carrying, { recursive: true });
      carry(folder, carrying);
      run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', into], { cwd: carrying });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return readdirSync(into).filter((file) => file.endsWith('.tgz'));
}

/** `signet-policy-engine-0.1.0.tgz` is of the room `policy-engine`. */
function roomOf(file: string): string {
  const room = rooms.find((each) => new RegExp(`^signet-${each}-\\d`).test(file));
  if (room === undefined) throw new Error(`\`${file}\` is no package of ours`);
  return room;
}

function unpack(tarball: string, into: string): void {
  mkdirSync(into);
  run('tar', ['-xzf', tarball, '-C', into, '--strip-components=1']);
}

/** Puts the packages of ours that one needs into it. What those need of others becomes its own need: npm asks for no needs of what is carried. */
function carry(folder: string, into: string): void {
  const manifest = read(into);
  const carried = needsOf(folder, manifest);
  const needs = [manifest, ...carried.map((name) => read(join(folder, roomNamed(name))))];
  const dependencies = Object.fromEntries(
    needs.toReversed().flatMap((each) => Object.entries(each.dependencies ?? {})),
  );
  const joined = carryJoined(into);
  for (const name of carried) {
    cpSync(join(folder, roomNamed(name)), join(into, 'node_modules', name), { recursive: true });
  }
  // Scripts and tools of the checkout are of no use without it.
  const bundleDependencies = [...carried, ...joined];
  const whole = { ...manifest, dependencies, bundleDependencies, scripts: {}, devDependencies: {} };
  writeFileSync(join(into, 'package.json'), `${JSON.stringify(whole, undefined, 2)}\n`);
}

/** Puts the joined packages of others (`join-packages.ts`) where npm knows of what is carried, and answers their names. */
function carryJoined(into: string): string[] {
  const [joined, carried] = [join(into, 'joined', 'node_modules'), join(into, 'node_modules')];
  if (!existsSync(joined)) return [];
  renameSync(joined, carried);
  return readdirSync(carried);
}

/** The names of all packages of ours that one needs, those that they need among them. */
function needsOf(folder: string, { dependencies = {} }: Manifest): string[] {
  const direct = Object.keys(dependencies).filter((name) => name.startsWith(scope));
  const below = direct.flatMap((name) => needsOf(folder, read(join(folder, roomNamed(name)))));
  return [...new Set([...direct, ...below])].toSorted();
}

const roomNamed = (name: string): string => name.slice(scope.length);

function read(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

if (import.meta.main) {
  const [into] = process.argv.slice(2);
  if (into === undefined) throw new Error('the folder for the packages is missing: node deploy/release/pack.ts FOLDER');
  mkdirSync(into, { recursive: true });
  for (const file of packAll(fileURLToPath(new URL('../..', import.meta.url)), into)) process.stdout.write(`${file}\n`);
}
