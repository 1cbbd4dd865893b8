import test from 'ava';

const { compareRounds }: typeof import('../../bench/gate/compare.ts') = await import(
  `${import.meta.dirname}/../../bench/gate/compare.ts`
);

type Rounds = Parameters<typeof compareRounds>[0];
type Figure = Rounds[number][number];

const figure = (median: number, aim?: Figure['aim'], id = 'one'): Figure => ({
  id,
  title: 'a figure',
  unit: '',
  value: { median, low: median, high: median },
  ...(aim !== undefined && { aim }),
});

const atMost = { kind: 'at most', value: 1 } as const;
const atLeast = { kind: 'at least', value: 1 } as const;

const table: readonly (readonly [
  what: string,
  aim: Figure['aim'],
  before: readonly number[],
  after: readonly number[],
  verdict: ReturnType<typeof compareRounds>[number]['verdict'],
])[] = [
  ['all rounds say that it costs more', atMost, [1, 1, 1], [1.1, 1.2, 1.1], 'worse'],
  ['all rounds say that it costs less', atMost, [1, 1, 1], [0.9, 0.8, 0.9], 'better'],
  ['all rounds say that it is done more often', atLeast, [1, 1, 1], [1.1, 1.2, 1.1], 'better'],
  ['all rounds say that it is done less often', atLeast, [1, 1, 1], [0.9, 0.8, 0.9], 'worse'],
  ['nobody said what is good', undefined, [1, 1, 1], [1.1, 1.2, 1.1], 'higher'],
  ['nor here', undefined, [1, 1, 1], [0.9, 0.8, 0.9], 'lower'],
  ['one round says the contrary', atMost, [1, 1, 1], [1.3, 0.99, 1.3], 'within the noise'],
  ['3 %', atMost, [100, 100, 100], [102.99, 102.99, 102.99], 'within the noise'],
  ['a little more', atMost, [100, 100, 100], [103.01, 103.01, 103.01], 'worse'],
  ['both were slow in the same round', atMost, [1, 4, 1], [1.01, 4.01, 1.01], 'within the noise'],
];

for (const [what, aim, before, after, verdict] of table) {
  test(`two commits are compared: ${what}`, (t) => {
    const rounds = (values: readonly number[]) => values.map((value) => [figure(value, aim)]);
    const [comparison, ...more] = compareRounds(rounds(before), rounds(after));
    t.is(comparison?.verdict, verdict);
    t.deepEqual(more, []);
  });
}

test('a figure that one of the commits does not have is left out', (t) => {
  const [old, both] = [figure(1, atMost, 'old'), figure(1, atMost, 'both')];
  const found = compareRounds([[old, both]], [[both, figure(1, atMost, 'new')]]);
  t.deepEqual(
    found.map(({ id }) => id),
    ['both'],
  );
});
