import { globSync, readFileSync } from 'node:fs';
import test from 'ava';

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
