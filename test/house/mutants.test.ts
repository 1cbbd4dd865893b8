import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import test from 'ava';
import { temporaryFolder } from '#support/temp';
import { Coverage } from '../mutants/coverage.ts';
import { equivalent } from '../mutants/equivalent.ts';
import { mutantVariable } from '../mutants/load-mutant.ts';
import { isSame, mutantsOf, shuffle } from '../mutants/mutant.ts';
import { applyMutation, findMutations } from '../mutants/mutations.ts';
import { nearestTests, securitySources } from '../mutants/nearest-tests.ts';
import { parseOptions } from '../mutants/options.ts';

const top = fileURLToPath(new URL('../..', import.meta.url));

/** Results of the mutations of a source. */
const made = (code: string): string[] => findMutations(code).map((mutation) => applyMutation(code, mutation));

const samples: [note: string, code: string, made: string[]][] = [
  [
    'a guard',
    'function f(a: number) { if (a) throw a as unknown; }',
    ['function f(a: number) { if (false) throw a as unknown; }'],
  ],
  ['a branch', 'if (a) b();', ['if (false) b();', 'if (true) b();']],
  ['a call that refuses', 'async () => { await checkIt(a); seeIt(a); }', ['async () => { ; seeIt(a); }']],
  ['a method that refuses', 'x.requireAll<T>(a);', [';']],
  ['comparisons', 'a === b; a < c;', ['a !== b; a < c;', 'a === b; a <= c;', 'a === b; a >= c;']],
  [
    'what holds together',
    'x = (a as B) && /* && */ !b;',
    [
      'x = (true as B) && /* && */ !b;',
      'x = (a as B) || /* && */ !b;',
      'x = (a as B) && /* && */ b;',
      'x = (a as B) && /* && */ true;',
    ],
  ],
  ['an alternative', 'a || b', ['false || b', 'a && b', 'a || false']],
  ['quantifiers', 'a.some(f); b.every(g);', ['a.every(f); b.every(g);', 'a.some(f); b.some(g);']],
  ['answers', 'const f = () => true;', ['const f = () => false;']],
  ['the order of a list', 's.sort((a, b) => (a < b ? -1 : 1));', []],
  ['what a message says', 'const f = (e: unknown) => (e instanceof Error ? e.message : g);', []],
  [
    'a member that may be absent',
    'const a = { ...(b !== undefined && { b }) };',
    [
      'const a = { ...(b === undefined && { b }) };',
      'const a = { ...(b !== undefined || { b }) };',
      'const a = { ...(b !== undefined && true) };',
    ],
  ],
  [
    'a member that depends on something else',
    'const a = { ...(c !== undefined && { b }) };',
    [
      'const a = { ...(c === undefined && { b }) };',
      'const a = { ...(c !== undefined || { b }) };',
      'const a = { ...(true && { b }) };',
      'const a = { ...(c !== undefined && true) };',
    ],
  ],
  ['when work pauses', 'function* f() { if (a % b === 0) yield; }', []],
  ['what is not a rule', 'const a: string = b ?? c; type T = 1 | 2; f(true);', []],
];
for (const [note, code, expected] of samples) {
  test(`mutations of ${note}`, (t) => t.deepEqual(made(code).sort(), expected.sort()));
}

test('a process that is given a mutant runs it in place of the file', (t) => {
  const folder = temporaryFolder(t);
  const rule = join(folder, 'rule.ts');
  const main = join(folder, 'main.ts');
  writeFileSync(rule, 'export const mayPass = (age: number): boolean => age >= 18;\n');
  writeFileSync(main, `import { mayPass } from './rule.ts';\nprocess.stdout.write(String(mayPass(18)));\n`);
  const run = (mutant: string | undefined) => {
    const loader = pathToFileURL(join(top, 'test/mutants/load-mutant.ts')).href;
    const env = { ...process.env, NODE_OPTIONS: `--import=${loader}`, [mutantVariable]: mutant };
    return spawnSync(process.execPath, [main], { env, encoding: 'utf8' }).stdout;
  };
  const boundary = mutantsOf(folder, 'rule.ts').find(({ kind }) => kind === 'moved boundary');
  t.is(boundary?.line, 1);
  t.is(boundary?.to, 'export const mayPass = (age: number): boolean => age > 18;');
  const file = join(folder, 'mutant.json');
  writeFileSync(file, JSON.stringify(boundary));
  t.deepEqual([run(undefined), run(file)], ['true', 'false']);
});

test('what a test reaches is told by the innermost range', (t) => {
  const ranges = [
    { startOffset: 0, endOffset: 100, count: 1 },
    { startOffset: 10, endOffset: 50, count: 0 },
    { startOffset: 20, endOffset: 30, count: 2 },
  ];
  const coverage = Coverage.of([{ url: 'file:///a.ts', ranges }]);
  const reached = [5, 15, 25, 40, 60, 100].map((offset) => coverage.reaches('file:///a.ts', offset));
  t.deepEqual(reached, [true, false, true, false, true, false]);
  t.false(coverage.reaches('file:///b.ts', 5));
});

test('the same seed gives the same sample', (t) => {
  const items = Array.from({ length: 50 }, (_, index) => index);
  t.deepEqual(shuffle(items, 1), shuffle(items, 1));
  t.notDeepEqual(shuffle(items, 1), shuffle(items, 2));
  t.deepEqual(
    shuffle(items, 3).sort((a, b) => a - b),
    items,
  );
});

test('every security rule has mutants and tests near it', (t) => {
  const sources = securitySources(top, []);
  t.true(sources.length > 100);
  for (const source of sources) t.true(nearestTests(top, source).length > 0, source);
  const nearest = nearestTests(top, 'server/src/oauth/scope.ts').filter(({ rank }) => rank < 0);
  t.true(nearest.some(({ file }) => file === 'server/oauth/scope.test.ts'));
  t.true(mutantsOf(top, 'policy-engine/src/token/claims.ts').length > 50);
});

test('a mutation that counts as equivalent has a reason, and stands for one alone', (t) => {
  for (const known of equivalent) {
    t.true(known.reason.length > 20, known.from);
    t.is(equivalent.filter((other) => isSame({ ...known, ...other } as never, known)).length, 1, known.from);
  }
  t.pass();
});

test('the command line', (t) => {
  const defaults = { minutes: 10, seed: 1, sample: 200, files: [], list: false };
  t.deepEqual(parseOptions([]), defaults);
  t.deepEqual(parseOptions(['--minutes', '0.5', '--seed', '7', '--file', 'a', '--file', 'b', '--list']), {
    ...defaults,
    minutes: 0.5,
    seed: 7,
    files: ['a', 'b'],
    list: true,
  });
  for (const args of [['--minutes', 'x'], ['--sample=-1'], ['--seed', '']]) {
    t.throws(() => parseOptions(args), { message: /^usage: npm run mutants/ });
  }
});
