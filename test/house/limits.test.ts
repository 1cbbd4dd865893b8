import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { boundsIn, limitConstants, top } from '../limits/constants.ts';
import { rows } from '../limits/rows/index.ts';

/* Bounds have tests, so that none can be moved or lost unnoticed. */

const constants = limitConstants();
const known = new Set(constants.map(({ file, name }) => `${file} ${name}`));
const listed = rows.map(({ file, constant }) => `${file} ${constant}`);

test('every constant that bounds something has a row in test/limits/rows', (t) => {
  t.true(constants.length > 60, `${constants.length} found`);
  const missing = [...known].filter((name) => !listed.includes(name));
  t.deepEqual(
    missing,
    [],
    'add a row to the file of the package in test/limits/rows: `maximum(file, constant, (size) => …)` with what accepts the bound and refuses one more, or `elsewhere(…)` with the test that does',
  );
});

test('every row is of a constant that is there, and no constant has two', (t) => {
  t.deepEqual(
    listed.filter((name) => !known.has(name)),
    [],
    'the constant is gone or renamed: change or remove the row',
  );
  t.is(new Set(listed).size, listed.length);
});

test('the tests elsewhere are there, under the titles given', (t) => {
  for (const row of rows) {
    if (row.kind !== 'elsewhere') continue;
    const file = join(top, 'test', row.test);
    t.true(existsSync(file), row.test);
    t.true(
      readFileSync(file, 'utf8').includes(row.title),
      `${row.test} has no test \`${row.title}\` (${row.constant})`,
    );
  }
});

const samples: [note: string, code: string, found: ReturnType<typeof boundsIn>][] = [
  ['a number', 'const maxA = 1_000;', [{ name: 'maxA', value: 1000 }]],
  ['an exported one with a type', 'export const minA: number = 2;', [{ name: 'minA', value: 2 }]],
  ['a term', 'const day = 10;\nconst longestA = 2 ** 3 * day - (1 << 1);', [{ name: 'longestA', value: 78 }]],
  ['a word that only begins like it', 'const minute = 60; const maximA = 1; const mostly = 1;', []],
  ['the bare word', 'const deepest = 32;', [{ name: 'deepest', value: 32 }]],
  ['what is not a number', 'const maxA = () => 1; const limits = {}; let maxB = 1;', [{ name: 'maxB', value: 1 }]],
];
for (const [note, code, found] of samples) {
  test(`finds the bounds of a source: ${note}`, (t) => t.deepEqual(boundsIn(code), found));
}
