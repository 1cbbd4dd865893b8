import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

/*
 * The rooms of the server from the bottom to the top, files at its root among them. A room imports what stands before it, types included,
 * and nothing that stands after it.
 */
const rooms = [
  'errors.ts',
  'own-files.ts',
  'base',
  'tracing',
  'logger.ts',
  'steps',
  'turns',
  'model',
  'observer.ts',
  'snapshot',
  'roles',
  'impact',
  'access',
  'x509',
  'ssh',
  'keys',
  'bundles',
  'budgets',
  'profile.ts',
  'config',
  'principals',
  'oauth',
  'instances',
  'cloud',
  'store',
  'store-watch',
  'full-backup',
  'work-process',
  'management',
  'people',
  'impact-process.ts',
  'metrics',
  'http',
  'compose',
  'console',
  'cli',
  'dev',
  'program.ts',
  'main.ts',
];

const source = fileURLToPath(new URL('../../server/src', import.meta.url));

interface Import {
  readonly file: string;
  readonly from: string;
}

const imports = globSync('**/*.ts', { cwd: source }).flatMap((file): Import[] => {
  const specifiers = readFileSync(join(source, file), 'utf8').matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
  return [...specifiers].map(([, specifier = '']) => ({ file, from: normalize(join(dirname(file), specifier)) }));
});

const roomOf = (file: string) => file.split('/')[0] ?? '';

test('every room has its place', (t) => {
  t.true(imports.length > 1000, 'the imports are found');
  t.deepEqual(
    [...new Set(imports.map(({ file }) => roomOf(file)))].filter((room) => !rooms.includes(room)),
    [],
  );
});

test('no import points up', (t) => {
  const up = imports.filter(({ file, from }) => rooms.indexOf(roomOf(file)) < rooms.indexOf(roomOf(from)));
  t.deepEqual(up, []);
});

test('one place knows what a store is kept in', (t) => {
  const outside = imports.filter(({ file, from }) => roomOf(file) !== 'store' && from.startsWith('store/sqlite/'));
  t.deepEqual(outside, []);
});
