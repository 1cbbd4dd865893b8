import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { declarationsOf, exportsOf } from '#support/exports';

/* Public exports have docstrings, which editors show. */

const top = fileURLToPath(new URL('../..', import.meta.url));

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly '@signet/source': string }>>;
}

/** Every name that the entries of a package lead to. */
function publicNames(room: string): Set<string> {
  const { exports }: Manifest = JSON.parse(readFileSync(join(room, 'package.json'), 'utf8'));
  const sources = Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [] : globSync(join(room, target['@signet/source'].replace('*', '**/*'))),
  );
  return new Set(sources.map(exportsOf).flatMap(({ values, types }) => [...values, ...types]));
}

/** The public names of these files that are declared without a docstring. */
function undescribed(code: string, names: ReadonlySet<string>): string[] {
  return declarationsOf(code).flatMap(({ name, isDescribed }) => (isDescribed || !names.has(name) ? [] : [name]));
}

for (const package_ of ['policy-engine', 'client', 'updater']) {
  test(`every public export of ${package_} has a docstring`, (t) => {
    const room = join(top, package_);
    const names = publicNames(room);
    t.true(names.size > 20);
    const files = globSync(join(room, 'src/**/*.ts'));
    const codes = files.map((file) => readFileSync(file, 'utf8'));
    t.deepEqual(
      codes.flatMap((code) => undescribed(code, names)),
      [],
    );
    const declared = new Set(codes.flatMap((code) => declarationsOf(code).map(({ name }) => name)));
    // exports of another package are described there
    const foreign = room.endsWith('client')
      ? ['parseHttpDate', 'secureServerOptions', 'RequiredAccess', 'Rule', 'RuleInput']
      : ['CryptoKey'];
    t.deepEqual(
      [...names].filter((name) => !declared.has(name) && !foreign.includes(name)),
      [],
    );
  });
}

const samples: [note: string, code: string, found: string[]][] = [
  ['a function with one', '/** Adds. */\nexport function f(): void {}\n', []],
  ['a function without', 'export function f(): void {}\n', ['f']],
  ['an ordinary comment', '// adds\nexport async function f(): Promise<void> {}\n', ['f']],
  ['a docstring of something else', '/** Adds. */\nconst g = 1;\nexport const f = g;\n', ['f']],
  ['a docstring and an empty line', '/** About this file. */\n\nexport interface f {}\n', ['f']],
  ['a class', 'export abstract class f {}\n', ['f']],
  ['a type', 'export type f = 1;\n', ['f']],
  [
    'overloads of which the first has one',
    '/** Adds. */\nexport function f(a: 1): void;\nexport function f(a: 2): void;\n',
    [],
  ],
  ['a name that is not public', 'export function g(): void {}\n', []],
];
for (const [note, code, found] of samples) {
  test(`finds what lacks a docstring: ${note}`, (t) => t.deepEqual(undescribed(code, new Set(['f'])), found));
}
