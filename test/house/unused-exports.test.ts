import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { declarationsOf } from '#support/exports';

/*
 * Exports are imported elsewhere. A test may import what its file uses itself; nothing is exported for tests alone. The entries of a package are
 * for others, and schemas are walked by `test/limits/schemas.test.ts`.
 */

const top = fileURLToPath(new URL('../..', import.meta.url));

type Files = ReadonlyMap<string, string>;

interface Mentions {
  /** The names that a file imports from another by a list; `*` for one that passes on all. */
  readonly listed: ReadonlySet<string>;
  /** True if it names the other file in another way: then each of its words may be a name. */
  readonly byWords: boolean;
}

/** Where a specifier leads, relative to the top. */
type Resolve = (from: string, specifier: string) => string | undefined;

const listed = /\b(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+'([^']+)'/g;

/** Mentions of each file in each other file. */
function mentionsOf(files: Files, resolve: Resolve): ReadonlyMap<string, ReadonlyMap<string, Mentions>> {
  const found = new Map<string, Map<string, { listed: Set<string>; byWords: boolean }>>();
  const of = (file: string, by: string) => {
    const all = insert(found, file, () => new Map<string, { listed: Set<string>; byWords: boolean }>());
    return insert(all, by, () => ({ listed: new Set<string>(), byWords: false }));
  };
  for (const [by, code] of files) {
    const rest = code.replaceAll(listed, (_, names: string, specifier: string) => {
      const file = resolve(by, specifier);
      if (file === undefined) return '';
      for (const name of names.split(','))
        of(file, by).listed.add(
          name
            .trim()
            .replace(/^type /, '')
            .split(' as ')[0] ?? '',
        );
      return '';
    });
    for (const [, star, specifier = ''] of rest.matchAll(/(export (?:type )?\* from )?'([^'\n]+)'/g)) {
      const file = resolve(by, specifier);
      if (file === undefined || file === by) continue;
      if (star === undefined) of(file, by).byWords = true;
      else of(file, by).listed.add('*');
    }
  }
  return found;
}

function insert<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

const hasWord = (code: string, word: string): boolean => new RegExp(`\\b${word}\\b`).test(code);

/** Unnecessary exports of these source files, with the reason. */
function unusedExports(sources: Files, tests: Files, resolve: Resolve): string[] {
  const files = new Map([...sources, ...tests]);
  const mentions = mentionsOf(files, resolve);
  return [...sources].flatMap(([file, code]) =>
    declarationsOf(code).flatMap(({ name }) => {
      const users = [...(mentions.get(file) ?? [])].flatMap(([by, { listed: names, byWords }]) =>
        names.has(name) || names.has('*') || (byWords && hasWord(files.get(by) ?? '', name)) ? [by] : [],
      );
      if (users.some((user) => sources.has(user))) return [];
      if (users.length === 0) return [`${file}: nobody imports \`${name}\``];
      const isUsedInside = code.split(new RegExp(`\\b${name}\\b`)).length > 2;
      return isUsedInside ? [] : [`${file}: only tests use \`${name}\``];
    }),
  );
}

const rooms = ['policy-engine', 'client', 'updater', 'server', 'example-provider'];
const read = (pattern: string): Files =>
  new Map(
    globSync(pattern, { cwd: top, exclude: ['**/node_modules/**', '**/dist/**'] }).map((file) => [
      file,
      readFileSync(join(top, file), 'utf8'),
    ]),
  );

/** The files that entries name, by what others import. */
const entries = new Map(
  rooms.flatMap((room) => {
    const { exports }: { exports: Record<string, string | Record<string, string>> } = JSON.parse(
      readFileSync(join(top, room, 'package.json'), 'utf8'),
    );
    return Object.entries(exports).flatMap(([path, target]) =>
      typeof target === 'string'
        ? []
        : [[`@signet/${room}${path.slice(1)}`, join(room, target['@signet/source'] ?? '')]],
    ) as [string, string][];
  }),
);

const inRepository: Resolve = (from, specifier) => {
  if (specifier.startsWith('.')) return normalize(join(dirname(from), specifier));
  if (/^[a-z-]+\/src\/.*\.ts$/.test(specifier)) return specifier;
  const entry = entries.get(specifier);
  if (entry !== undefined) return entry;
  const [, room, inside] = /^@signet\/([a-z-]+)\/(.+)$/.exec(specifier) ?? [];
  return room !== undefined && entries.has(`@signet/${room}/*`) ? `${room}/src/${inside}.ts` : undefined;
};

test('nothing is exported for nobody', (t) => {
  const all = new Map([...read(`{${rooms.join(',')}}/src/**/*.ts`), ...read('docs/site/playground/*.{ts,vue}')]);
  t.true(all.size > 400);
  const named = new Set(entries.values());
  const sources = new Map(
    [...all].map(([file, code]) => [
      file,
      named.has(file) ? code.replaceAll(/^export (?!(?:type )?[{*])/gm, '') : code,
    ]),
  );
  const found = unusedExports(sources, new Map([...read('{test,bench}/**/*.ts')]), inRepository);
  t.deepEqual(
    found.filter((line) => !/`\w+Schema`$/.test(line)),
    // the compiler has to name it in what other files export
    ['server/src/store/statement.ts: nobody imports `Statement`'],
  );
});

const one = 'export const a = 1;\n';
const samples: [note: string, sources: Record<string, string>, tests: Record<string, string>, found: string[]][] = [
  ['one that nobody imports', { 'x.ts': one }, {}, ['x.ts: nobody imports `a`']],
  ['one that its own file uses', { 'x.ts': `${one}const b = a;\n` }, {}, ['x.ts: nobody imports `a`']],
  ['one that another imports', { 'x.ts': one, 'y.ts': "import { a } from './x.ts';\n" }, {}, []],
  ['one that another imports by another name', { 'x.ts': one, 'y.ts': "import { a as b } from './x.ts';\n" }, {}, []],
  ['one that another passes on', { 'x.ts': one, 'y.ts': "export { a } from './x.ts';\n" }, {}, []],
  [
    'another of the same file',
    { 'x.ts': one, 'y.ts': "import { b } from './x.ts';\nconst a = b;\n" },
    {},
    ['x.ts: nobody imports `a`'],
  ],
  [
    'one of a file that is imported as a whole',
    { 'x.ts': one, 'y.ts': "import * as x from './x.ts';\nx.a;\n" },
    {},
    [],
  ],
  ['one of a file that is loaded late', { 'x.ts': one, 'y.ts': "(await import('./x.ts')).a();\n" }, {}, []],
  [
    'one that only a test uses',
    { 'x.ts': one },
    { 't.ts': "import { a } from './x.ts';\n" },
    ['x.ts: only tests use `a`'],
  ],
  [
    'one that a test and its file use',
    { 'x.ts': `${one}const b = a;\n` },
    { 't.ts': "import { a } from './x.ts';\n" },
    [],
  ],
  ['a type', { 'x.ts': 'export interface A {}\n' }, {}, ['x.ts: nobody imports `A`']],
];
for (const [note, sources, tests, found] of samples) {
  test(`finds what is exported without need: ${note}`, (t) => {
    const resolve: Resolve = (_, specifier) => (specifier.startsWith('./') ? specifier.slice(2) : undefined);
    t.deepEqual(unusedExports(new Map(Object.entries(sources)), new Map(Object.entries(tests)), resolve), found);
  });
}
