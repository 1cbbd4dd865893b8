import test from 'ava';

const { parseOptions, parseParts, parts, UsageError }: typeof import('../../bench/options.ts') = await import(
  `${import.meta.dirname}/../../bench/options.ts`
);

const wrong: readonly (readonly [string, readonly string[]])[] = [
  ['an unknown option', ['--quik']],
  ['an option without its value', ['--out']],
  ['a value for an option that has none', ['--quick=yes']],
  ['an unknown part', ['tokens']],
];

for (const [what, args] of wrong) {
  test(`${what} is refused, and the usage said`, (t) => {
    const error = t.throws(() => parseOptions(args), { instanceOf: UsageError });
    t.regex(error.message, /\nusage: npm run bench -- \[token \| /);
  });
}

test('without parts all are run, and a short version counts no instructions unless asked', (t) => {
  const files = { out: undefined, data: undefined };
  t.deepEqual(parseOptions([]), { ...files, parts, quick: false, count: true });
  t.deepEqual(parseOptions(['token', '--quick']), { ...files, parts: ['token'], quick: true, count: false });
  t.deepEqual(parseOptions(['token', '--quick', '--count', '--out', 'a', '--data', 'b']), {
    parts: ['token'],
    quick: true,
    count: true,
    out: 'a',
    data: 'b',
  });
  t.deepEqual(parseParts(['workers', 'start']), ['workers', 'start']);
});
