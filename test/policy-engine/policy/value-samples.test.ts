import { type ConditionOperator, conditionOperators, valueSamples } from '@signet/policy-engine/policy';
import test from 'ava';
import fc from 'fast-check';
import { internals } from '../../limits/row.ts';

/* The samples that the impact of a change is computed with: no value that there is answers a condition as no sample does. */

type Answer = boolean | undefined;
interface Compiled {
  readonly kind: string;
  readonly sets: readonly { readonly test: { holds(value: unknown): Answer; readonly landmarks: Landmarks } }[][];
}
type Landmarks = Parameters<typeof valueSamples>[0];

const { compileConditions, foldContext } = await internals<{
  compileConditions(wire: unknown): Compiled;
  foldContext(context: object): { instances: unknown };
}>('policy-engine/src/policy/conditions.ts');

/** Values of each operator that meet: a new operator does not compile before it is drawn. */
const drawn: Readonly<Record<ConditionOperator, readonly string[]>> = {
  EQUALS: ['10.1.2.3', 'h1', '10.', '2001:db8::1', '::ffff:10.1.2.3', 'other', '*', '203.0.113.7', '203.0.113.6'],
  NOT_EQUALS: ['10.1.2.4', 'h2', '::', '10.1', 'hother'],
  STARTS_WITH: [
    'h',
    'h1',
    '1',
    '10.',
    '10.1.',
    '10.1.2.3',
    'db',
    '2001:',
    '2001:db8:',
    '2001:db8:0',
    'o',
    '203.0.113.',
  ],
  IN_CIDR: [
    '10.0.0.0/8',
    '10.1.0.0/16',
    '10.1.2.3/32',
    '0.0.0.0/0',
    '::/0',
    '2001:db8::/32',
    '2001:db8::1/128',
    '203.0.113.6/31',
  ],
};

const first = [
  '',
  'h',
  'h1',
  'h12',
  'o',
  'other',
  'x',
  'db',
  'db-1',
  '*',
  '1',
  '10',
  '10.',
  '10.1',
  '10.1.2.3.4',
  '10.01.2.3',
];
const octets = ['1', '2', '3', '4', '10', '128'];
const dotted = octets.flatMap((one) =>
  octets.flatMap((two) => ['2.3', '2.4', '0.0'].map((end) => `${one}.${two}.${end}`)),
);
const others = ['203.0.113.5', '203.0.113.6', '203.0.113.7', '203.0.113.70', '0.0.0.0', '255.255.255.255'];
const groups = [
  '::',
  '::1',
  '1::',
  '10::1',
  'db::',
  'dbd::1',
  '2001::',
  '2001:db8::',
  '2001:db8::1',
  '2001:db8::2',
  '2001:db8:0::1',
];
const spelled = [
  '2001:0db8::1',
  '2001:db8:0:0:0:0:0:1',
  '2001:db9::',
  '2001:db8:1::',
  '2002::',
  'fe80::1',
  'fe80::1%eth0',
  '::10.1.2.3',
];
const universe = [
  ...first,
  ...dotted,
  ...others,
  ...groups,
  ...spelled,
  ...[...dotted, ...others].map((one) => `::ffff:${one}`),
];

const condition = fc
  .constantFrom(...conditionOperators)
  .chain((operator) => fc.constantFrom(...drawn[operator]).map((value) => ({ operator, value })));

function compile(conditions: readonly { operator: string; value: string }[]) {
  const sets = conditions.map((instances) => ({ conditionsMap: { instances } }));
  return compileConditions({ conditionsList: sets }).sets.flatMap((set) => set.map(({ test: one }) => one));
}

function joined(tests: readonly { readonly landmarks: Landmarks }[]): Landmarks {
  const all = <K extends keyof Landmarks>(kind: K) =>
    tests.flatMap(({ landmarks }) => landmarks[kind] as readonly unknown[]);
  return { texts: all('texts'), prefixes: all('prefixes'), networks: all('networks') } as Landmarks;
}

test('every value answers as a sample does', (t) => {
  let told = 0;
  fc.assert(
    fc.property(fc.array(condition, { minLength: 1, maxLength: 7 }), (conditions) => {
      const tests = compile(conditions);
      const samples = valueSamples(joined(tests));
      if (samples === undefined) return;
      told += 1;
      const answers = (value: string) => {
        const { instances } = foldContext({ instances: value });
        return tests.map((one) => String(one.holds(instances))).join();
      };
      const known = new Set(samples.map(answers));
      const missed = universe.filter((value) => !known.has(answers(value)));
      if (missed.length > 0) throw new Error(`${JSON.stringify(missed)} of ${JSON.stringify(conditions)}: ${samples}`);
    }),
    { numRuns: 2000 },
  );
  t.true(told > 1000, `${told}`);
});
