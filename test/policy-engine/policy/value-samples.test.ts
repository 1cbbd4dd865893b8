import { conditionOperators, valueSamples } from '@signet/policy-engine/policy';
import test from 'ava';
import fc from 'fast-check';
import { conditionValues, universe } from '#support/condition-values';
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

const condition = fc
  .constantFrom(...conditionOperators)
  .chain((operator) => fc.constantFrom(...conditionValues[operator].meeting).map((value) => ({ operator, value })));

function compile(conditions: readonly { operator: string; value: string }[]) {
  const sets = conditions.map((instances) => ({ conditionsMap: { instances } }));
  return compileConditions({ conditionsList: sets }).sets.flatMap((set) => set.map(({ test: one }) => one));
}

function joined(tests: readonly { readonly landmarks: Landmarks }[]): Landmarks {
  const all = <K extends keyof Landmarks>(kind: K) =>
    tests.flatMap(({ landmarks }) => landmarks[kind] as readonly unknown[]);
  return { values: all('values'), prefixes: all('prefixes'), networks: all('networks') } as Landmarks;
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
