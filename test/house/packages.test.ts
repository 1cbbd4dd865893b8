import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import test from 'ava';
import { findOldNode } from '#support/old-node';
import { runProgram } from '#support/run-program';

const top = new URL('../..', import.meta.url).pathname;
const read = (file: string) => readFileSync(`${top}${file}`, 'utf8');

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly author?: string;
  readonly license?: string;
  readonly engines?: { readonly node?: string };
  readonly files?: readonly string[];
  readonly bin?: unknown;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

const rooms = globSync('*/package.json', { cwd: top }).map((file) => file.split('/')[0] ?? '');
const manifestOf = (room: string): Manifest => JSON.parse(read(`${room}/package.json`));

test('pages install files of the present version', (t) => {
  const { version } = JSON.parse(read('package.json'));
  const pages = globSync(['*.md', '*/README.md', 'docs/{guides,tutorial}/*.md'], { cwd: top });
  const named = pages.flatMap((page) =>
    Array.from(read(page).matchAll(/signet-[a-z-]+-(\d[\w.]*)\.tgz/g), ([file, of]) => ({ page, file, of })),
  );
  t.true(named.length >= 8);
  t.deepEqual(
    named.filter(({ of }) => of !== version),
    [],
  );
});

test('every room has a README', (t) => {
  t.true(rooms.length >= 7);
  for (const room of rooms) t.regex(read(`${room}/README.md`), /^# /, room);
});

for (const room of rooms.filter((name) => manifestOf(name).private !== true)) {
  test(`@signet/${room} is published with its licence and says what it is`, (t) => {
    const { description, keywords = [], author, license, engines } = manifestOf(room);
    t.truthy(description);
    t.true(keywords.length > 0);
    t.is(author, 'The Signet authors');
    t.is(license, 'Apache-2.0');
    t.truthy(engines?.node);
    for (const file of ['LICENSE', 'NOTICE']) t.is(read(`${room}/${file}`), read(file), file);
  });
}

for (const room of rooms.filter((name) => manifestOf(name).exports !== undefined)) {
  test(`@signet/${room} names what it exports`, (t) => {
    const { exports = {}, files = [], bin } = manifestOf(room);
    t.is(exports['./package.json'], './package.json');
    t.false(files.includes('src'));
    const entries = Object.entries(exports).filter(([entry]) => entry !== './package.json');
    const patterns = entries.filter(([entry]) => entry.includes('*'));
    // a program exports nothing: its tests reach its source, which is not in what is published
    if (bin === undefined) t.deepEqual(patterns, []);
    else t.deepEqual(entries, [['./*', { '@signet/source': './src/*.ts' }]]);
  });
}

test('`npm ci` with an older Node says nothing of engines: the Node that it brings runs everything', async (t) => {
  const old = await findOldNode();
  const npm =
    old === undefined ? undefined : await runProgram(`${dirname(old)}/npm`, ['--version']).catch(() => undefined);
  if (old === undefined || npm?.status !== 0) {
    t.log('skipped: there is no older Node with npm on this machine');
    return t.pass();
  }
  // Environment of a person: an npm that runs this test has put its own settings into it.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'));
  const env = { ...Object.fromEntries(own), PATH: `${dirname(old)}:/usr/bin:/bin` };
  const options = ['ci', '--dry-run', '--offline', '--ignore-scripts'];
  const { status, stderr } = await runProgram(`${dirname(old)}/npm`, options, { cwd: top, env });
  t.is(status, 0, stderr);
  t.notRegex(stderr, /EBADENGINE|warn/i);
});
